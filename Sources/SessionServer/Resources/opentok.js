// The browser library; to be written.

import Glibc

/// In bytes; 0 for a file that is not there.
package func fileSize(_ path: String) -> Int64 {
  var status = stat()
  return stat(path, &status) == 0 ? Int64(status.st_size) : 0
}

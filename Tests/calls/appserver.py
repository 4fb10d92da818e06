"""A small app server for tests: any path, any answer."""
import http.server
import json
import threading


class AppServer:
    """answers: {path with query: (status, headers, body) or a JSON-able value}; what it was asked is in `asked`."""

    def __init__(self, answers):
        app = self
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                app.asked.append(self.path)
                answer = answers.get(self.path, (404, {}, "nothing here"))
                status, headers, body = answer if isinstance(answer, tuple) else (200, {"Content-Type": "application/json"}, json.dumps(answer))
                data = body if isinstance(body, bytes) else body.encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

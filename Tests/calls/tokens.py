"""T1 tokens as an app server's SDK makes them."""
import base64
import hashlib
import hmac
import time
import urllib.parse

KEY, SECRET = "100", "a secret of this test"


def session_id(key=KEY):
    plain = f"1~{key}~~{int(time.time() * 1000)}~abcdefghijklmnop~~"
    return "1_" + base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def t1(session, key=KEY, secret=SECRET, role="publisher", expires_in=3600, data=""):
    now = int(time.time())
    fields = urllib.parse.urlencode({
        "session_id": session, "create_time": now - 7200, "expire_time": now + expires_in, "role": role, "nonce": 1234,
        "initial_layout_class_list": "", "connection_data": data})
    signature = hmac.new(secret.encode(), fields.encode(), hashlib.sha1).hexdigest()
    return "T1==" + base64.b64encode(f"partner_id={key}&sig={signature}:{fields}".encode()).decode()

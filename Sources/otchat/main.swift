print("otchat")

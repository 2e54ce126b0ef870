print("serialq")

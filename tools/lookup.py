import argparse, json

p = argparse.ArgumentParser()
p.add_argument("--order")
print(json.dumps({"order": p.parse_args().order, "paid": 20, "delivered": False}))

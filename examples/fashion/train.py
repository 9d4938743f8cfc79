#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Train a small CNN on Fashion-MNIST with plain numpy and write it as an ONNX file.

Needs: Debian package dataset-fashion-mnist (MIT licence), python3, numpy, onnx.
Run:   OPENBLAS_NUM_THREADS=1 nice -n 19 python3 train.py [epochs=8]
Net (NCHW at the ONNX interface, weights float32):
  Conv 1->16 3x3 pad1, Relu, MaxPool2   28 -> 14
  Conv 16->32 3x3 pad1, Relu, MaxPool2  14 -> 7
  Conv 32->48 3x3 pad1, Relu, MaxPool2   7 -> 3   (floor)
  Flatten, Gemm 432->64, Relu, Gemm 64->10, Softmax
Input: pixels / 255 as float32 [N,1,28,28].  No other normalisation.
"""
import gzip, os, sys, time
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

D = "/usr/share/datasets/fashion-mnist/"
EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
BATCH = 128
f32 = np.float32

def images(name):
    with gzip.open(D + name) as f:
        b = f.read()
    n, h, w = np.frombuffer(b, ">u4", 4)[1:]
    return np.frombuffer(b, np.uint8, offset=16).reshape(n, h, w)

def labels(name):
    with gzip.open(D + name) as f:
        return np.frombuffer(f.read(), np.uint8, offset=8).astype(np.int64)

# ---- layers (NHWC inside the trainer) -------------------------------------
def im2col(x):                                   # 3x3, pad 1 -> [N,H,W,9*C]
    n, h, w, c = x.shape
    p = np.zeros((n, h + 2, w + 2, c), f32); p[:, 1:-1, 1:-1] = x
    out = np.empty((n, h, w, 9, c), f32)
    for k in range(9):
        out[:, :, :, k] = p[:, k // 3:k // 3 + h, k % 3:k % 3 + w]
    return out.reshape(n * h * w, 9 * c)

def col2im(d, n, h, w, c):
    d = d.reshape(n, h, w, 9, c)
    p = np.zeros((n, h + 2, w + 2, c), f32)
    for k in range(9):
        p[:, k // 3:k // 3 + h, k % 3:k % 3 + w] += d[:, :, :, k]
    return p[:, 1:-1, 1:-1]

def pool(x):                                     # 2x2 stride 2, floor
    n, h, w, c = x.shape; H, W = h // 2, w // 2
    v = x[:, :2 * H, :2 * W].reshape(n, H, 2, W, 2, c)
    y = v.max(axis=(2, 4))
    return y, (v, y, x.shape)

def pool_back(dy, cache):
    v, y, shape = cache
    m = (v == y[:, :, None, :, None])
    m = m / m.sum(axis=(2, 4), keepdims=True, dtype=f32)
    g = m * dy[:, :, None, :, None]
    d = np.zeros(shape, f32); n, H, _, W, _, c = v.shape
    d[:, :2 * H, :2 * W] = g.reshape(n, 2 * H, 2 * W, c)
    return d

def init(rng):
    def he(i, o): return (rng.standard_normal((i, o)) * np.sqrt(2.0 / i)).astype(f32)
    P = {}
    for l, (i, o) in enumerate([(9, 16), (144, 32), (288, 48)]):
        P["cw%d" % l] = he(i, o); P["cb%d" % l] = np.zeros(o, f32)
    P["w3"] = he(432, 64); P["b3"] = np.zeros(64, f32)
    P["w4"] = he(64, 10) * f32(0.5); P["b4"] = np.zeros(10, f32)
    return P

def forward(P, x):
    cs = []
    for l in range(3):
        n, h, w, c = x.shape
        col = im2col(x)
        z = col @ P["cw%d" % l]; z += P["cb%d" % l]
        np.maximum(z, 0, out=z)
        z = z.reshape(n, h, w, -1)
        y, pc = pool(z)
        cs.append((col, (n, h, w, c), z, pc)); x = y
    # flatten in NCHW order, as the ONNX graph does
    f = np.ascontiguousarray(x.transpose(0, 3, 1, 2)).reshape(len(x), -1)
    hdn = np.maximum(f @ P["w3"] + P["b3"], 0)
    return hdn @ P["w4"] + P["b4"], (cs, x.shape, f, hdn)

def backward(P, dl, cache):
    cs, shp, f, hdn = cache; G = {}
    G["w4"] = hdn.T @ dl; G["b4"] = dl.sum(0)
    dh = (dl @ P["w4"].T) * (hdn > 0)
    G["w3"] = f.T @ dh; G["b3"] = dh.sum(0)
    n, h, w, c = shp
    d = (dh @ P["w3"].T).reshape(n, c, h, w).transpose(0, 2, 3, 1)
    for l in (2, 1, 0):
        col, (n, h, w, c), z, pc = cs[l]
        dz = (pool_back(d, pc) * (z > 0)).reshape(n * h * w, -1)
        G["cw%d" % l] = col.T @ dz; G["cb%d" % l] = dz.sum(0)
        if l: d = col2im(dz @ P["cw%d" % l].T, n, h, w, c)
    return G

def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True)); return e / e.sum(1, keepdims=True)

def accuracy(P, x, y):
    ok = 0
    for i in range(0, len(x), 500):
        ok += int((forward(P, x[i:i + 500])[0].argmax(1) == y[i:i + 500]).sum())
    return ok / len(x)

def export(P, path, acc):
    import onnx
    from onnx import helper as h, numpy_helper as nh, TensorProto as T
    init, nodes = [], []
    cur = "image"
    for l in range(3):
        w = P["cw%d" % l]; ci = w.shape[0] // 9
        w = np.ascontiguousarray(w.reshape(3, 3, ci, -1).transpose(3, 2, 0, 1))  # OIHW
        init += [nh.from_array(w, "conv%d.weight" % (l + 1)),
                 nh.from_array(P["cb%d" % l], "conv%d.bias" % (l + 1))]
        c, r, p = "conv%d" % (l + 1), "relu%d" % (l + 1), "pool%d" % (l + 1)
        nodes += [h.make_node("Conv", [cur, c + ".weight", c + ".bias"], [c], name=c,
                              kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]),
                  h.make_node("Relu", [c], [r], name=r),
                  h.make_node("MaxPool", [r], [p], name=p, kernel_shape=[2, 2], strides=[2, 2])]
        cur = p
    for k, n in (("3", "fc1"), ("4", "fc2")):
        init += [nh.from_array(np.ascontiguousarray(P["w" + k].T), n + ".weight"),
                 nh.from_array(P["b" + k], n + ".bias")]
    nodes += [h.make_node("Flatten", [cur], ["flat"], name="flat", axis=1),
              h.make_node("Gemm", ["flat", "fc1.weight", "fc1.bias"], ["fc1"], name="fc1", transB=1),
              h.make_node("Relu", ["fc1"], ["relu4"], name="relu4"),
              h.make_node("Gemm", ["relu4", "fc2.weight", "fc2.bias"], ["logits"], name="fc2", transB=1),
              h.make_node("Softmax", ["logits"], ["probabilities"], name="softmax", axis=1)]
    g = h.make_graph(nodes, "fashion_mnist_cnn",
                     [h.make_tensor_value_info("image", T.FLOAT, ["N", 1, 28, 28])],
                     [h.make_tensor_value_info("probabilities", T.FLOAT, ["N", 10])], init)
    m = h.make_model(g, opset_imports=[h.make_opsetid("", 13)], producer_name="train.py", ir_version=7)
    h.set_model_props(m, {"classes": "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot",
                          "test_accuracy": "%.4f" % acc,
                          "data": "Fashion-MNIST (Zalando SE, MIT)"})
    onnx.checker.check_model(m, full_check=True)
    onnx.save(m, path)

def main():
    xt = (images("train-images-idx3-ubyte.gz").astype(f32) / f32(255))[..., None]
    yt = labels("train-labels-idx1-ubyte.gz")
    xv = (images("t10k-images-idx3-ubyte.gz").astype(f32) / f32(255))[..., None]
    yv = labels("t10k-labels-idx1-ubyte.gz")
    rng = np.random.default_rng(0)
    P = init(rng)
    M = {k: np.zeros_like(v) for k, v in P.items()}; V = {k: np.zeros_like(v) for k, v in P.items()}
    step, total = 0, EPOCHS * (len(xt) // BATCH)
    t0 = time.process_time()
    for ep in range(EPOCHS):
        idx = rng.permutation(len(xt)); loss = 0.0
        for b in range(len(xt) // BATCH):
            i = idx[b * BATCH:(b + 1) * BATCH]
            x = xt[i].copy(); y = yt[i]
            fl = rng.random(BATCH) < 0.5; x[fl] = x[fl][:, :, ::-1]      # mirror half of them
            z, cache = forward(P, x)
            p = softmax(z); loss += -np.log(p[np.arange(BATCH), y] + 1e-9).mean()
            p[np.arange(BATCH), y] -= 1
            G = backward(P, (p / f32(BATCH)).astype(f32), cache)
            step += 1
            lr = 0.002 * 0.5 * (1 + np.cos(np.pi * step / total)) + 1e-5
            for k in P:                                                    # AdamW
                M[k] = 0.9 * M[k] + 0.1 * G[k]; V[k] = 0.999 * V[k] + 0.001 * G[k] ** 2
                u = (M[k] / (1 - 0.9 ** step)) / (np.sqrt(V[k] / (1 - 0.999 ** step)) + 1e-8)
                if P[k].ndim == 2: u = u + 0.01 * P[k]
                P[k] = (P[k] - lr * u).astype(f32)
        print("epoch %d loss %.4f test %.4f cpu %.0f s" % (ep + 1, loss / (len(xt) // BATCH),
              accuracy(P, xv, yv), time.process_time() - t0), flush=True)
    acc = accuracy(P, xv, yv)
    export(P, "fashion_mnist_cnn.onnx", acc)
    np.save("images.npy", np.ascontiguousarray(xv[:10].transpose(0, 3, 1, 2)))
    np.save("labels.npy", yv[:10])
    np.save("probabilities_numpy.npy", softmax(forward(P, xv[:10])[0]).astype(f32))
    print("params", sum(v.size for v in P.values()), "test accuracy %.4f" % acc)

if __name__ == "__main__":
    main()

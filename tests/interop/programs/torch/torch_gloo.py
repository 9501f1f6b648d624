"""A script of torch.distributed as users write it: it knows nothing of its launcher.

All ranks add up rank + 1 by gloo, then train one linear layer for two steps under DistributedDataParallel, after which all of them
have the same weights.
"""
import os

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    total = torch.tensor([rank + 1.0])
    dist.all_reduce(total)

    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        model(torch.full((8, 4), float(rank + step))).sum().backward()
        optimizer.step()
    weights = [torch.empty(4) for _ in range(size)]
    dist.all_gather(weights, model.module.weight.detach().flatten())
    same = all(torch.equal(weights[0], other) for other in weights)
    print(f"rank {rank} of {size} local {os.environ['LOCAL_RANK']} sum {int(total)} same weights {same}", flush=True)


if __name__ == "__main__":
    main()

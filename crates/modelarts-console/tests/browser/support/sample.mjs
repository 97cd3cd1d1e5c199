// Jobs of every phase, as an example for screens and figures.

/** Returns a time before now, RFC 3339. */
export function ago(minutes) {
  return new Date(Date.now() - minutes * 60_000).toISOString();
}

const wave = (length, low, high, gap) =>
  Array.from({ length }, (_, n) => {
    if (gap && n >= gap[0] && n < gap[1]) {
      return -1;
    }
    return Math.round((low + (high - low) * (0.5 + 0.5 * Math.sin(n / 7))) * 100) / 100;
  });

const traceback = `epoch 3 loss 0.418
Traceback (most recent call last):
  File "/home/ma-user/modelarts/user-job-dir/code/train.py", line 41, in <module>
    main()
  File "/home/ma-user/modelarts/user-job-dir/code/train.py", line 33, in main
    loss.backward()
RuntimeError: CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0; 31.75 GiB total capacity)
`;

/** Lines of a log. */
export function lines(count, start = 1) {
  const text = [];
  for (let n = start; n < start + count; n += 1) {
    const level = n % 50 === 0 ? "ERROR" : n % 17 === 0 ? "WARNING" : "INFO";
    text.push(`2026-01-15 08:30:00,${String(n % 1000).padStart(3, "0")} ${level} step ${n} loss ${(4 / n).toFixed(4)}`);
  }
  return `${text.join("\n")}\n`;
}

/** Returns jobs of every phase. */
function jobs() {
  const body = (more = {}) => ({
    kind: "job",
    metadata: { name: "unused", description: "Baseline with the augmentation of last week", ...more.metadata },
    algorithm: {
      code_dir: "/bucket/resnet/",
      boot_file: "/bucket/resnet/train.py",
      engine: { engine_name: "PyTorch", engine_version: "pytorch_1.8.0" },
      parameters: [
        { name: "epochs", value: "90" },
        { name: "learning_rate", value: "0.1" },
        { name: "batch_size", value: more.batch ?? "256" },
      ],
      inputs: [{ name: "data_url", remote: { obs: { obs_url: "/bucket/imagenet/" } } }],
      outputs: [{ name: "train_url", remote: { obs: { obs_url: "/bucket/out/" } } }],
      environments: { PYTHONHASHSEED: "0", WANDB_MODE: "offline" },
      ...more.algorithm,
    },
    spec: { resource: { flavor_id: "modelarts.vm.cpu.8u", node_count: 2 }, ...more.spec },
  });
  const usage = {
    "worker-0": {
      cpuUsage: wave(90, 10, 95),
      memUsage: wave(90, 30, 60, [20, 30]),
      gpuUtil: wave(90, 0, 99),
      gpuMemUsage: wave(90, 40, 80),
    },
    "worker-1": { cpuUsage: wave(90, 5, 70), memUsage: wave(90, 20, 40) },
  };
  return [
    {
      name: "resnet-50-baseline",
      job: body(),
      phase: "Completed",
      created: ago(140),
      started: ago(138),
      ended: ago(45),
      logs: { "worker-0": lines(160), "worker-1": lines(60) },
      metrics: usage,
      tags: { team: "vision", stage: "baseline" },
    },
    {
      name: "resnet-50-large-batch",
      job: body({ batch: "1024" }),
      phase: "Failed",
      exit_code: 1,
      task: "worker-1",
      created: ago(90),
      started: ago(88),
      ended: ago(60),
      logs: { "worker-0": lines(120), "worker-1": lines(80) + traceback },
    },
    { name: "bert-finetune", job: body(), phase: "Running", created: ago(30), started: ago(28), logs: { "worker-0": lines(120) }, metrics: usage },
    { name: "bert-large-64-nodes-with-a-name-that-is-as-long-as-it-may-be-x", phase: "Pending", created: ago(25) },
    { name: "quick-check", phase: "Creating", created: ago(1) },
    { name: "abandoned", phase: "Terminated", created: ago(3000), started: ago(2990), ended: ago(2900) },
    { name: "node-lost", phase: "Abnormal", created: ago(5000) },
    { name: "sweep-{n}", count: 8, phase: "Completed", created: ago(9000) },
  ];
}

/** Adds the jobs to a server, with their code and data. Returns their ids by name. */
export async function seed(server) {
  await server.put("bucket/resnet/train.py", "print('trained')\n");
  await server.put("bucket/imagenet/rows.csv", "1\n2\n");
  await server.put("bucket/out/metrics.json", '{"accuracy": 0.912, "loss": 0.31}\n');
  await server.put("bucket/out/checkpoints/epoch-90.pt", "0".repeat(40_000));
  const all = jobs();
  const ids = await server.seed(all);
  return Object.fromEntries(all.map((job, n) => [job.name, ids[n]]));
}

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { start } from './emulator.js';

let emulator;
beforeAll(async () => {
  emulator = await start();
});
// Each test starts with an empty emulator.
beforeEach(() => emulator.control('reset', undefined, 'POST'));
afterAll(() => emulator.stop());

async function job(name, script) {
  const code = join(emulator.obs, 'bucket', name);
  await mkdir(code, { recursive: true });
  await writeFile(join(code, 'train.py'), script);
  return {
    kind: 'job',
    metadata: { name },
    algorithm: {
      code_dir: `obs://bucket/${name}/`,
      boot_file: `obs://bucket/${name}/train.py`,
      engine: { engine_name: 'PyTorch', engine_version: 'pytorch_1.8.0' },
    },
    spec: { resource: { flavor_id: 'modelarts.vm.cpu.2u' } },
  };
}

test('the code of a job runs', async () => {
  const created = await emulator.ask('training-jobs', await job('runs', "print('hello')\n"));
  expect(created.status).toBe(201);
  const route = `training-jobs/${created.body.metadata.id}`;
  await vi.waitUntil(
    async () => (await emulator.ask(route)).body.status.phase === 'Completed',
    { timeout: 30_000 },
  );
  const log = await emulator.ask(`${route}/tasks/worker-0/logs/preview`);
  expect(log.body.content).toBe('hello\n');
}, 60_000);

test('a busy service creates nothing', async () => {
  await emulator.control('faults', { operation: 'CreateTrainingJob', fault: 'status', status: 429 });
  const wanted = await job('busy', '');
  const refused = await emulator.ask('training-jobs', wanted);
  expect([refused.status, refused.body.error_code]).toEqual([429, 'ModelArts.2799']);
  expect((await emulator.ask('training-jobs', wanted)).status).toBe(201);
  const { body: requests } = await emulator.control('requests');
  expect(requests.CreateTrainingJob).toEqual({ received: 2, executed: 1 });
});

// Starts an emulator. The environment variable MODELARTS_EMULATOR names the program, which prints
// its address as a line of JSON.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const TOKEN = 'a-token';

export async function start() {
  const place = await mkdtemp(join(tmpdir(), 'modelarts-'));
  const obs = join(place, 'obs');
  const program = process.env.MODELARTS_EMULATOR ?? 'modelarts-emulator';
  const flags = ['--token', TOKEN, '--timing', 'instant', '--data-dir', join(place, 'data'), '--obs-root', obs];
  const child = spawn(program, ['serve', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(child.stdout), 'line');
  const ready = JSON.parse(line);

  async function send(path, body, method) {
    const answer = await fetch(ready.url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { 'X-Auth-Token': TOKEN, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  }

  return {
    obs,
    ask: (route, body, method) => send(`/v2/${ready.project_id}/${route}`, body, method),
    control: (route, body, method) => send(`/_emulator/${route}`, body, method),
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

import { execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

const MiB = 1024 * 1024;

let service: TestService;
let ada: Person;
let mallory: Person;
let workspace: string;
let hers: string;
let listening: Server;

beforeAll(async () => {
  service = await TestService.start({
    WORKSPACE_LIMITS: `bytes=${48 * MiB}`,
    SANDBOX_LIMITS: `memory=${128 * MiB}`,
    SECRETS_OF_THE_SERVICE: 'a-secret-of-the-host',
  });
  ada = await service.person('Ada');
  mallory = await service.person('Mallory');
  hers = await service.workspace(ada);
  workspace = await service.workspace(mallory);
  await ada.client.put(`/api/workspaces/${hers}/files/content`, { path: 'plan.txt', content: 'hers alone' });
  listening = createServer(socket => socket.end('reached the host')).listen(0, '127.0.0.1');
});
afterAll(async () => {
  listening.close();
  await service.stop();
});

/** Longer than anything waits here that is not killed before. */
const PATIENCE_SECONDS = 120;

async function bash(command: string, timeout_seconds = PATIENCE_SECONDS): Promise<Json> {
  const address = `/api/workspaces/${workspace}/tools/bash`;
  const { body } = await mallory.client.post(address, { input: { command, timeout_seconds } });
  return body;
}
const output = async (command: string): Promise<string> => (await bash(command)).output;

/** Removes a file; a machine that is busy may answer 503, and means to be asked again. */
async function removed(path: string): Promise<unknown[]> {
  for (const end = Date.now() + 60_000; ; ) {
    const { status, body } = await mallory.client.delete(
      `/api/workspaces/${workspace}/files?path=${path}&recursive=true`,
    );
    if (status !== 503 || Date.now() > end) return [path, status, body.detail];
  }
}

describe('a hostile command', () => {
  it('that forks without end is refused processes, and others go on', async () => {
    // Without a process more for what waits.
    const said = 'until read -r line </tmp/said; do :; done; echo "$line"';
    const bomb = await bash(`exec 2>/tmp/said; bomb() { bomb | bomb & }; bomb; ${said}`);
    expect(bomb.output).toMatch(/fork: (retry: )?Resource temporarily unavailable/);
    expect(await output('echo fine')).toBe('fine');
  });

  it('that takes all memory is killed for it', async () => {
    const hog = 'perl -e \'my @a; push @a, "x" x 1048576 while 1\'';
    expect((await bash(hog)).output).toContain('Killed: it used more memory than allowed.');
  });

  it('that fills the memory by way of its own file systems gets no more than they hold', async () => {
    const said = await output('head -c 900M /dev/zero >/tmp/x; head -c 900M /dev/zero >/dev/shm/x; true');
    expect(said).toMatch(/No space left on device|used more memory than allowed/);
    expect(
      await output('df -k /tmp /dev/shm | tail -2 | while read -r _ size _; do echo $((size / 1024)); done'),
    ).toBe('256\n64');
  });

  it('cannot hide what it fills the disk with under a name like those of the service', async () => {
    const forged = `.atelier-tmp-${'0'.repeat(12)}-${'a'.repeat(24)}`;
    const untilGone = `for i in $(seq 1000); do [ -e ${forged} ] || break; sleep 0.1; done`;
    const said = await output(`head -c 60M /dev/zero >${forged}; ${untilGone}; ls -A; echo survived`);
    expect(said).not.toContain(forged);
    expect((await bash('echo fine')).output).toBe('fine');
  });

  it('cannot hide what it fills the disk with under a name that is not UTF-8', async () => {
    const said = await output(
      'mkdir odd; head -c 60M /dev/zero >"$(printf \'odd/\\xff\')"; sleep 100; echo survived',
    );
    expect(said).toMatch(/^Killed: the workspace holds \d+ bytes, and may hold 50331648/);
    await mallory.client.delete(`/api/workspaces/${workspace}/files?path=odd&recursive=true`);
    expect((await bash('echo fine')).output).toBe('fine');
  });

  it('cannot hide what it fills the disk with in a file that it has deleted and not closed', async () => {
    const said = await output('exec 3>gone; rm gone; head -c 60M /dev/zero >&3; sleep 100; echo survived');
    expect(said).toMatch(/^Killed: the workspace holds \d+ bytes, and may hold 50331648/);
    expect((await bash('echo fine')).output).toBe('fine');
  });

  it('shows and gives away what it calls by the beginning of such a name', async () => {
    await bash('mkdir .atelier-tmp-mine && echo x >.atelier-tmp-mine/x');
    const files = `/api/workspaces/${workspace}/files`;
    const listed = await mallory.client.get(files);
    expect(listed.body.items.map(({ path }: Json) => path)).toContain('.atelier-tmp-mine');
    const removed = await mallory.client.delete(`${files}?path=.atelier-tmp-mine&recursive=true`);
    expect(removed.status).toBe(200);
  });

  it('that fills the disk is killed, and runs nothing more until there is room', async () => {
    const flood = 'for i in $(seq 2000); do head -c 4M /dev/zero >flood-$i; sleep 0.05; done; echo survived';
    const { output: said, is_error } = await bash(flood);
    expect(is_error).toBe(true);
    expect(said).toMatch(
      /^Killed: the workspace holds \d+ bytes, and may hold 50331648; delete something first\.$/,
    );
    expect((await bash('true')).output).toMatch(/delete something first/);
    const files = `/api/workspaces/${workspace}/files?limit=200`;
    let { items } = (await mallory.client.get(files)).body;
    expect(items.length).toBeGreaterThan(10);
    for (; items.length > 0; { items } = (await mallory.client.get(files)).body)
      for (const { path } of items) expect(await removed(path)).toEqual([path, 200, undefined]);
    expect(await output('echo fine')).toBe('fine');
  });

  it('that makes a file larger than allowed is ended by the kernel', async () => {
    expect(await output('truncate -s 100G sparse; rm -f sparse')).toMatch(
      /File too large|File size limit exceeded/,
    );
    const grown = await output('dd if=/dev/zero of=long bs=1M seek=1023 count=4; rm -f long');
    expect(grown).toMatch(/File too large|File size limit exceeded/);
    expect(await output('exec truncate -s 100G sparse')).toMatch(/File too large|larger than 1024 MiB/);
    await output('rm -f sparse');
  });

  it('that writes without end is killed for it', async () => {
    expect((await bash('yes')).output).toContain('Killed: it wrote more output than allowed.');
  });

  it('that never ends is killed at its deadline', async () => {
    expect((await bash('trap "" TERM INT HUP; while :; do sleep 1; done', 1)).output).toMatch(
      /^Killed: it took longer than allowed by timeout_seconds=1\./,
    );
  });

  it('finds no secret of the host', async () => {
    const found = await output('cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\\0" "\\n"; env');
    expect(found).not.toMatch(/a-secret-of-the-host|DATABASE_URL|SECRET/);
    expect(
      await output(`ls ${service.dataDir} 2>&1; ls /root /home /var /srv 2>&1; cat /etc/shadow 2>&1`),
    ).not.toMatch(/workspaces|\nroot:/);
    expect(
      await output(`cat /workspace/../${hers}/plan.txt /proc/1/root/plan.txt 2>&1; ls /proc/1/cwd/ 2>&1`),
    ).not.toContain('hers alone');
    expect(await output(`ln -s ${service.dataDir}/workspaces/${hers}/plan.txt link; cat link 2>&1`)).toMatch(
      /No such file/,
    );
  });

  it('reaches no address, be it of the host, of the network or of a cloud', async () => {
    const port = (listening.address() as { port: number }).port;
    const tried = [`127.0.0.1/${port}`, '169.254.169.254/80', '10.0.0.1/80', '1.1.1.1/443'];
    const said = await output(
      `for at in ${tried.join(' ')}; do timeout 60 bash -c "exec 3<>/dev/tcp/$at && cat <&3" 2>&1; done`,
    );
    expect(said).not.toContain('reached the host');
    expect(said.match(/Connection refused|Network is unreachable/g)).toHaveLength(2 * tried.length);
    expect(await output('timeout 60 bash -c "exec 3<>/dev/tcp/metadata.google.internal/80" 2>&1')).toMatch(
      /resolution|not known/,
    );
  });

  it('sees nothing of what other tenants run', async () => {
    const script = `perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "\\0tenant", Listen => 1) or die; print "listens\n"; $| = 1; sleep 600' & sleep 600 & echo begun; wait`;
    const abort = new AbortController();
    const running = await ada.client.raw('POST', `/api/workspaces/${hers}/tools/bash`, {
      body: JSON.stringify({ input: { command: script } }),
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      signal: abort.signal,
    });
    const reader = running.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let told = ''; !(told.includes('listens') && told.includes('begun')); ) {
      const { value, done } = (await reader?.read()) ?? { done: true };
      if (done) throw new Error(`it ended: ${told}`);
      told += value;
    }
    const seen = await output(
      'cat /proc/*/cmdline | tr "\\0" " "; cat /proc/net/unix; ls /run /tmp; ps -e | wc -l',
    );
    expect(seen).not.toMatch(/sleep 600|tenant|begun/);
    expect(await output('mkdir -p /run/atelier/x 2>&1; touch /run/x 2>&1')).toMatch(
      /Read-only file system[\s\S]*Read-only file system/,
    );
    const listed = async () => (await ada.client.get(`/api/workspaces/${hers}/sandboxes`)).body.items;
    while ((await listed()).length === 0) await sleep(50);
    const items = await listed();
    expect(
      (await mallory.client.delete(`/api/workspaces/${workspace}/sandboxes/${items[0].id}`)).status,
    ).toBe(404);
    expect((await mallory.client.get(`/api/workspaces/${hers}/sandboxes`)).status).toBe(404);
    await ada.client.delete(`/api/workspaces/${hers}/sandboxes/${items[0].id}`);
    abort.abort();
  });

  it('leaves no process behind, whatever it starts', async () => {
    await bash('for i in 1 2 3; do (setsid nohup sleep 98765 >/dev/null 2>&1 &); done; kill -9 $$');
    const left = () => execFileSync('bash', ['-c', 'pgrep -xf "sleep 98765" || true']).toString();
    while (left() !== '') await sleep(50);
  });
});

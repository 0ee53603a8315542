import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DockerEngine, describeWithDocker } from '../../../test/fakes/docker-engine.js';
import { forkTree, itRunsCommands, startService, TestWorkspace } from '../driver.fixture.js';
import { createSandbox, type DockerOptions, type SandboxDriver } from '../index.js';
import { itKeepsACommand } from '../isolation.fixture.js';
import { itRunsSessions } from '../session.fixture.js';
import { SERVICE_LABEL } from './service-label.js';

const [uid, gid] = [process.getuid?.() ?? -1, process.getgid?.() ?? -1];
const owner = uid === 0 ? { uid: 200_007, gid: 200_007 } : undefined;

describeWithDocker('docker sandbox', () => {
  const scratchFolder = mkdtempSync(join(tmpdir(), 'sandbox-scratch-'));
  let engine: DockerEngine;
  let sandbox: SandboxDriver;
  let workspace: TestWorkspace;

  const options = (changes: Partial<DockerOptions> = {}): DockerOptions => ({
    image: engine.image,
    socketPath: engine.socketPath,
    scratchFolder,
    ...changes,
  });
  const labels = async (): Promise<(string | undefined)[]> =>
    (
      await engine.api.call<{ Labels: Record<string, string> }[]>('GET', '/containers/json', {
        query: { all: true },
      })
    ).map(({ Labels }) => Labels[SERVICE_LABEL]);

  beforeAll(async () => {
    engine = await DockerEngine.start();
    sandbox = createSandbox('docker', options());
  });
  afterAll(async () => {
    await engine.stop();
    rmSync(scratchFolder, { recursive: true });
  });
  beforeEach(() => {
    workspace = new TestWorkspace(() => sandbox, owner);
  });
  afterEach(() => workspace.remove());

  it('works here, says so, and tries only once', async () => {
    expect(await sandbox.check()).toEqual({ ok: true });
    const both = await Promise.all([sandbox.check(), sandbox.check()]);
    expect(both[0]).toBe(both[1]);
  });

  itRunsCommands(() => sandbox, {
    owner,
    inside: owner ?? { uid, gid },
    atOnce: 3,
    givenUpAfter: [0, 250],
  });

  describe('keeps a command', () => {
    // Beside it: the init of the container, its keeper, and who started the command.
    itKeepsACommand(() => sandbox, { owner, inside: owner ?? { uid, gid }, processes: 4 });
  });

  describe('a session', () => {
    itRunsSessions(() => sandbox, { owner, isolated: true, folders: scratchFolder });
  });

  it('gives the command its variables and few others', async () => {
    const { stdout } = await workspace.run({ argv: ['env'], env: { A: "b 'c'\n€", PATH: '/usr/bin' } });
    expect(stdout).toContain("A=b 'c'\n€\n");
    expect([...stdout.matchAll(/^(\w+)=/gm)].map(([, name]) => name).sort()).toEqual(
      ['A', 'HOME', 'HOSTNAME', 'LANG', 'OLDPWD', 'PATH', 'PWD', 'TERM'].sort(),
    );
  });

  it('shows further folders, read-only', async () => {
    const extra = workspace.own(mkdtempSync(join(tmpdir(), 'sandbox-extra-')));
    writeFileSync(join(extra, 'file'), 'shown\n');
    const { stdout, stderr } = await workspace.bash('cat /run/extra/file; echo >/run/extra/new', {
      readOnlyBinds: [{ from: extra, to: '/run/extra' }],
    });
    rmSync(extra, { recursive: true });
    expect(stdout).toBe('shown\n');
    expect(stderr).toMatch(/Read-only file system/);
  });

  it('leaves neither a process nor a container when the service is killed', async () => {
    const lifeline = workspace.lifeline();
    const request = { workspace: workspace.path, owner, argv: ['bash', '-c', forkTree] };
    const service = startService('docker', options(), request);
    await service.said('ready');
    const ended = lifeline.ended();
    const gone = containerRemoved();
    await service.killed();
    await ended;
    await gone;
    expect(await labels()).toEqual([]);
  });

  it('removes what a service left that was killed before it started a container', async () => {
    const make = (service: string) =>
      engine.api.call<{ Id: string }>('POST', '/containers/create', {
        body: { Image: engine.image, Cmd: ['true'], Labels: { [SERVICE_LABEL]: service } },
      });
    const self = await labelOfOurs();
    const [host, space, pid, startedAt] = self.split('/');
    await make(`${host}/${space}/${pid}/${Number(startedAt) - 1}`);
    const kept = [await make(self), await make(`elsewhere/${space}/${pid}/1`)];
    expect(await createSandbox('docker', options()).check()).toEqual({ ok: true });
    expect([...new Set(await labels())].sort()).toEqual([self, `elsewhere/${space}/${pid}/1`].sort());
    for (const { Id } of kept) await engine.api.call('DELETE', `/containers/${Id}`);
  });

  it('says what is missing in a sentence, and looks again the next time', async () => {
    const reasonOf = async (changes: Partial<DockerOptions>): Promise<unknown> =>
      createSandbox('docker', options(changes)).check();
    expect(await reasonOf({ socketPath: join(scratchFolder, 'none') })).toEqual({
      ok: false,
      reason: expect.stringMatching(/^The Docker engine cannot be reached at .*none \(ENOENT\): start it/),
    });
    expect(await reasonOf({ runtime: 'runsc' })).toEqual({
      ok: false,
      reason: expect.stringMatching(/^The runtime runsc does not work here/),
    });
    await engine.importImage('with-volume', 'VOLUME /data');
    expect(await reasonOf({ image: 'with-volume' })).toEqual({
      ok: false,
      reason: expect.stringMatching(/^The image with-volume declares volumes/),
    });
    const early = createSandbox('docker', options({ image: 'later' }));
    const missing = {
      ok: false,
      reason: expect.stringMatching(/^The image later is not there: .*docker pull later/),
    };
    expect(await early.check()).toEqual(missing);
    await engine.importImage('later');
    expect(await early.check()).toEqual({ ok: true });
  });

  it('names what lies in a volume as a part of it', async () => {
    const inVolume = createSandbox('docker', options({ volume: { name: 'data', mountedAt: tmpdir() } }));
    // Parts of volumes came with Docker 26: an older engine refuses, and must not show all of the volume instead.
    const check = await inVolume.check();
    expect(check.ok).toBe(false);
  });

  it('ends what runs when the engine goes away, and goes on when it is back', async () => {
    const between = await passOn(engine.socketPath, join(scratchFolder, 'engine'));
    const interrupted = createSandbox('docker', options({ socketPath: between.path }));
    const argv = ['bash', '-c', 'echo started; exec sleep 1000'];
    const request = { workspace: workspace.path, owner, argv };
    const removed = containerRemoved();
    const running = interrupted.run({ ...request, onOutput: () => between.breakOff() });
    await expect(running).rejects.toThrow('The Docker engine stopped while the command ran');
    await removed;
    expect((await interrupted.run({ ...request, argv: ['echo', 'again'] })).stdout).toBe('again\n');
    await between.close();
  });

  async function containerRemoved(): Promise<void> {
    const events = await engine.api.stream('/events', { filters: { event: ['destroy'] } });
    await new Promise(resolve => events.once('data', resolve));
    events.destroy();
  }

  async function labelOfOurs(): Promise<string> {
    let found: string | undefined;
    const controller = new AbortController();
    const onOutput = async (): Promise<void> => {
      [found] = await labels();
      controller.abort();
    };
    await workspace.bash('echo x; sleep 1000', { onOutput, signal: controller.signal });
    return found ?? '';
  }
});

/** A socket that passes on to another one, until it breaks off all that it carries. */
async function passOn(
  from: string,
  path: string,
): Promise<{ path: string; breakOff: () => void; close: () => Promise<unknown> }> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, near => {
    const far = createConnection({ path: from, allowHalfOpen: true });
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined));
    near.pipe(far).pipe(near);
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroy());
  }).listen(path);
  await once(server, 'listening');
  const breakOff = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const close = (): Promise<unknown> => {
    breakOff();
    return new Promise(resolve => server.close(resolve));
  };
  return { path, breakOff, close };
}

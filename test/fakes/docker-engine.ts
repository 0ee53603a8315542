import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe } from '@jest/globals';
import { EngineApi } from '../../libs/sandbox/index.js';

const IMAGE = 'atelier-sandbox-test';
const SOCKET_OF_MACHINE = '/var/run/docker.sock';
/** What the image has of the host's programs. */
const PROGRAMS =
  'sh bash env cat echo ls id head tail tr wc sleep touch mkdir rm cp mv ln chmod stat printf pwd true sort find grep ' +
  'git du gzip sed perl setsid nohup mkfifo mknod unshare mount kill ps seq dd xargs which basename date timeout yes printenv rmdir cut uniq';

/**
 * A real Docker engine: one of its own, whose data, containers and socket are in a folder that goes away with it; for a
 * user who is not root, and so cannot run one, that of the machine. It has one image, made of programs of this machine,
 * since no registry is asked.
 */
export class DockerEngine {
  readonly image = IMAGE;
  readonly api: EngineApi;

  private constructor(
    readonly socketPath: string,
    private readonly own?: { daemon: ChildProcess; folder: string },
  ) {
    this.api = new EngineApi(socketPath);
  }

  static async start(): Promise<DockerEngine> {
    const engine = process.getuid?.() === 0 ? await launchOwn() : new DockerEngine(SOCKET_OF_MACHINE);
    try {
      await engine.importImage(IMAGE);
      return engine;
    } catch (error) {
      await engine.stop();
      throw error;
    }

    async function launchOwn(): Promise<DockerEngine> {
      const folder = mkdtempSync(path.join(tmpdir(), 'docker-'));
      return new DockerEngine(path.join(folder, 'socket'), { folder, daemon: await launch(folder) });
    }
  }

  /** Makes an image of programs of this machine. */
  async importImage(name: string, change?: string): Promise<void> {
    const node = `--transform=s,^${process.execPath.slice(1)},usr/local/bin/node,`;
    const tar = spawn('tar', ['--create', '--dereference', '--directory', '/', node, ...imageFiles()], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [repo, tag = 'latest'] = name.split(':');
    const query = new URLSearchParams({
      fromSrc: '-',
      repo: repo ?? '',
      tag,
      ...(change && { changes: change }),
    });
    const request = http.request({
      socketPath: this.socketPath,
      method: 'POST',
      path: `/images/create?${query}`,
    });
    tar.stdout.pipe(request);
    const [answer] = await once(request, 'response');
    if (answer.statusCode !== 200) throw new Error(`no image was made: ${answer.statusCode}`);
    await once(answer.resume(), 'end');
  }

  async stop(): Promise<void> {
    if (!this.own) return;
    const { daemon, folder } = this.own;
    const exited = once(daemon, 'exit');
    daemon.kill('SIGTERM');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `describe`, left out for a user who can neither run an engine nor use that of the machine; `npm test` says so. */
export const describeWithDocker = isToBeHad() ? describe : describe.skip;

function isToBeHad(): boolean {
  if (process.getuid?.() === 0) return true;
  try {
    accessSync(SOCKET_OF_MACHINE, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** overlay2 shares the image between containers; where the folder's file system has none, vfs copies it. */
async function launch(folder: string): Promise<ChildProcess> {
  const said: string[] = [];
  for (const driver of ['overlay2', 'vfs']) {
    const daemon = spawn('dockerd', [...daemonOptions(folder), `--storage-driver=${driver}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (await listens(daemon, said)) return daemon;
  }
  throw new Error(`dockerd does not run here: ${said.slice(-5).join('\n')}`);
}

function daemonOptions(folder: string): string[] {
  return [
    '--iptables=false',
    '--ip6tables=false',
    '--bridge=none',
    '--shutdown-timeout=1',
    `--data-root=${folder}/data`,
    `--exec-root=${folder}/run`,
    `--pidfile=${folder}/pid`,
    `--host=unix://${folder}/socket`,
  ];
}

async function listens(daemon: ChildProcess, said: string[]): Promise<boolean> {
  const { stderr } = daemon;
  if (!stderr) return false;
  // Read to its end: a daemon that cannot write its log stops.
  const lines = createInterface({ input: stderr });
  return new Promise((resolve, reject) => {
    daemon.once('error', reject).once('exit', () => resolve(false));
    lines.on('line', line => {
      said.push(line);
      if (line.includes('API listen on')) resolve(true);
    });
  });
}

/** The programs and the libraries that they need, as paths below the root. */
function imageFiles(): string[] {
  const found = PROGRAMS.split(' ').flatMap(name =>
    folders.map(folder => `${folder}/${name}`).filter(existsSync),
  );
  const binaries = [...found, process.execPath];
  // Fails for those that are scripts, and tells of the others.
  const { stdout: libraries } = spawnSync('ldd', binaries, { encoding: 'utf8' });
  const locales = ['/usr/lib/locale/C.utf8'].filter(existsSync);
  const files = [...binaries, ...locales, ...new Set(libraries.match(/\/\S+\.so[^\s:]*/g) ?? [])];
  return files.map(file => file.slice(1));
}

const folders = ['/bin', '/usr/bin'];

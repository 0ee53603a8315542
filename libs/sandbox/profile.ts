import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { AnonymousFile } from './anonymous-file.js';
import type { SandboxLimits } from './limits.js';
import type { ReadOnlyBind } from './sandbox.js';

/** Who and where a command is, seen from inside. */
const INSIDE_ID = '1000';
export const WORKSPACE = '/workspace';
const HOME = '/tmp/home';
const SHARED_MEMORY_BYTES = String(64 * 1024 * 1024);

const namespaces = [
  '--unshare-user',
  '--unshare-pid',
  '--unshare-net',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup',
  // No further user namespace, in which a process would be root again; the second makes sure of it.
  '--disable-userns',
  '--assert-userns-disabled',
  '--uid',
  INSIDE_ID,
  '--gid',
  INSIDE_ID,
  '--hostname',
  'sandbox',
  // No controlling terminal to type into; SIGKILL when the service dies; no capabilities, even in here.
  '--new-session',
  '--die-with-parent',
  '--cap-drop',
  'ALL',
];

/** Parts of the system that may be folders of their own or links into /usr. */
const systemFolders = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];

/** What programs need of the host's /etc: which alternative is chosen, where libraries are, whom TLS trusts. */
const systemSettings = [
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/pki/tls/certs',
  '/etc/pki/ca-trust/extracted',
];

/** Nothing about the host's users, names and network is true inside, so these files are made up. */
const inventedFiles: Record<string, string> = {
  '/etc/passwd': [
    'root:x:0:0:root:/root:/usr/sbin/nologin',
    `user:x:${INSIDE_ID}:${INSIDE_ID}:user:${HOME}:/bin/bash`,
    'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
    '',
  ].join('\n'),
  '/etc/group': ['root:x:0:', `user:x:${INSIDE_ID}:`, 'nogroup:x:65534:', ''].join('\n'),
  '/etc/hosts': ['127.0.0.1 localhost sandbox', '::1 localhost', ''].join('\n'),
  '/etc/nsswitch.conf': ['passwd: files', 'group: files', 'hosts: files dns', ''].join('\n'),
};

/**
 * The file that is made last. Its content comes through a pipe from the service, which sees by the closing of
 * the pipe how far bwrap has come.
 */
const LAST_FILE = '/etc/hostname';
export const lastFileContent = 'sandbox\n';

/** What one command adds to the profile. */
interface Place {
  workspace: string;
  isReadOnly?: boolean;
  /** Relative to the workspace. */
  cwd: string;
  readOnlyBinds: ReadOnlyBind[];
  env: Record<string, string>;
  limits: Pick<SandboxLimits, 'tmpBytes'>;
}

/** The arguments of bwrap. What is the same for every command is put together once. */
export class Profile {
  private readonly system: string[];
  /** Variables that every command has. */
  readonly variables: Record<string, string>;
  private readonly invented = Object.entries(inventedFiles).map(
    ([path, content]) => [path, new AnonymousFile(content)] as const,
  );

  constructor(binds: ReadOnlyBind[]) {
    const settings = systemSettings.filter(path => existsSync(path)).flatMap(path => readOnly(path, path));
    this.system = [
      ...namespaces,
      ...readOnly('/usr', '/usr'),
      ...systemFolders.flatMap(systemFolder),
      ...settings,
      ...binds.flatMap(({ from, to }) => readOnly(from, to)),
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      '--size',
      SHARED_MEMORY_BYTES,
      '--perms',
      '0700',
      '--tmpfs',
      '/dev/shm',
      // The new /dev is a writable file system without a size; its devices work read-only as well.
      '--remount-ro',
      '/dev',
      '--dir',
      '/run',
    ];
    this.variables = variables(binds.some(({ to }) => isBelow(to, '/opt/node')));
  }

  /** The files that every sandbox gets its own copy of, as descriptors to be closed by the caller. */
  openFiles(): number[] {
    return this.invented.map(([, file]) => file.open());
  }

  /**
   * @param files numbers that the descriptors of `openFiles` have in bwrap
   * @param lastFile number of the pipe that brings `lastFileContent`
   */
  arguments(
    { workspace, isReadOnly = false, cwd, readOnlyBinds, env, limits }: Place,
    files: number[],
    lastFile: number,
  ): string[] {
    const tmpSize = Number.isFinite(limits.tmpBytes) ? ['--size', String(limits.tmpBytes)] : [];
    return [
      ...this.system,
      ...this.invented.flatMap(([path], index) => ['--perms', '0444', '--file', String(files[index]), path]),
      ...tmpSize,
      '--perms',
      '1777',
      '--tmpfs',
      '/tmp',
      '--perms',
      '0700',
      '--dir',
      HOME,
      ...readOnlyBinds.flatMap(({ from, to }) => readOnly(from, to)),
      isReadOnly ? '--ro-bind' : '--bind',
      workspace,
      WORKSPACE,
      '--chdir',
      join(WORKSPACE, cwd),
      '--perms',
      '0444',
      '--file',
      String(lastFile),
      LAST_FILE,
      '--remount-ro',
      '/',
      // bwrap is started with an empty environment, which its own process 1 shows to all; this only makes sure.
      '--clearenv',
      ...setVariables({ ...this.variables, ...env }),
    ];
  }
}

function variables(hasNode: boolean): Record<string, string> {
  const path = [
    ...(hasNode ? ['/opt/node/bin'] : []),
    '/usr/local/bin',
    '/usr/bin',
    '/bin',
    '/usr/sbin',
    '/sbin',
  ];
  return { PATH: path.join(':'), HOME, LANG: 'C.UTF-8', TERM: 'dumb' };
}

function setVariables(variables: Record<string, string>): string[] {
  return Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]);
}

function readOnly(from: string, to: string): string[] {
  return ['--ro-bind', from, to];
}

function systemFolder(name: string): string[] {
  const path = `/${name}`;
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry?.isSymbolicLink()) return ['--symlink', readlinkSync(path), path];
  return entry?.isDirectory() ? readOnly(path, path) : [];
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

import type { SandboxLimits } from './limits.js';

/** Who a command is on the host: its processes, and the files it makes, belong to this user and group. */
export interface Owner {
  uid: number;
  gid: number;
}

/** A host file or folder shown inside, read-only. Both paths are absolute. */
export interface ReadOnlyBind {
  from: string;
  to: string;
}

/** What all processes of a session hold and have used. */
export interface SandboxUsage {
  memory_bytes: number;
  /** Of the processes that run now, and of their children that have ended. */
  cpu_ms: number;
  processes: number;
  /** Bytes on a device in files that are open and have no name any more: no look at folders sees them. 0 where unknown. */
  unlinkedBytes(device: bigint): number;
}

export interface SandboxRequest {
  /** Absolute host folder; the command sees it, writable, as `/workspace`. Its owner must be able to reach it. */
  workspace: string;
  /** The command can read the workspace and not write to it; without isolation, nothing keeps it from that. */
  isReadOnly?: boolean;
  /** Program and arguments, found on the PATH inside. No shell reads them. */
  argv: string[];
  /** Folder to start in, relative to the workspace; default `.`. */
  cwd?: string;
  /** Variables of the command. Otherwise it gets only PATH, HOME, LANG and TERM. */
  env?: Record<string, string>;
  /** Standard input; without it the command reads an end of file. */
  stdin?: string | Buffer;
  /** Needed, with a uid of at least 200000, where the caller is root; ignored where it is not. */
  owner?: Owner;
  limits?: Partial<SandboxLimits>;
  /** Aborting kills the whole process tree. */
  signal?: AbortSignal;
  /** Output as it arrives, cut off like the result's. A throw ends the command and rejects `run`. */
  onOutput?: (chunk: OutputChunk) => void;
  /** Gets, once, what tells at any time what the command uses. */
  onStarted?: (gauge: () => SandboxUsage) => void;
  /** More to show inside, for this command only, e.g. a folder with a socket at `/run/…`. */
  readOnlyBinds?: ReadOnlyBind[];
  /** Open descriptors of the caller that the command gets as 3, 4, …; each one is a hole made on purpose. */
  descriptors?: number[];
}

export interface OutputChunk {
  stream: 'stdout' | 'stderr';
  text: string;
}

/**
 * Why a command ended: by itself, by the deadline or its CPU time, by the caller's signal, for memory (then
 * at least one of its processes was killed for it), or because it flooded its output.
 */
export type EndedBy = 'exit' | 'timeout' | 'stopped' | 'memory' | 'output';

export interface SandboxResult {
  /** As a shell would show it: 128 + n after signal n, 127 for an unknown program; null if it was killed from outside. */
  exit_code: number | null;
  /** Name of the signal that ended it, as far as the exit code tells. */
  signal: string | null;
  ended_by: EndedBy;
  stdout: string;
  stderr: string;
  /** Both streams, in order of arrival. */
  output: string;
  /** More was written than `limits.outputBytes`; the first part is kept. */
  truncated: boolean;
  /** The limit that ended it or that it ran into, where that is known. */
  limit: keyof SandboxLimits | null;
  duration_ms: number;
}

export interface SandboxOptions {
  /** Shown inside every sandbox, e.g. the service's Node at `/opt/node` (`/opt/node/bin` joins the PATH then). */
  readOnlyBinds?: ReadOnlyBind[];
  /** Where the host's programs (bwrap, mkfifo) are looked for. */
  programFolders?: string[];
}

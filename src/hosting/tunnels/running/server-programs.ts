import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { Injectable } from '@nestjs/common';
import {
  type OutputChunk,
  type SandboxResult,
  type SandboxUsage,
  scratchFolder,
} from '#libs/sandbox/index.js';
import { SandboxDoor, startDoor } from '#libs/sandbox-door/index.js';
import { Config } from '../../../platform/config/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { WorkspaceFolders } from '../../../workspaces/core/index.js';
import { ProgramSandboxes } from '../../../workspaces/sandboxes/index.js';
import { type ServerRow, serversTopic } from '../records/servers.store.js';
import { ServerAuthority } from './server-authority.js';
import { ServerEnv } from './server-env.js';
import { PROGRAM_FOLDER, ViewerKeyFile } from './viewer-key-file.js';

const PORT = 3000;
const MAX_PROCESSES = 256;
/** Per process. A connection takes two of the door, and one of the program. */
const OPEN_FILES = 8192;
const TMP_BYTES = 256 * 1024 * 1024;
const MAX_SAID = 20;
const UNLIMITED = Number.POSITIVE_INFINITY;

const BEAT_MS = 2_000;

/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 8_000;

/** Default for servers without a limit, if the installation allows that much. */
const DEFAULT_MEMORY_BYTES = 512 * 1024 * 1024;

export class RunningProgram {
  usage: (() => SandboxUsage) | undefined;
  refused: string | undefined;
  private readonly kill = new AbortController();
  private patience: NodeJS.Timeout | undefined;

  constructor(
    readonly door: SandboxDoor,
    readonly port: number,
    /** The door sees ports of this program only. */
    readonly hasOwnPorts: boolean,
    run: (signal: AbortSignal, program: RunningProgram) => Promise<SandboxResult>,
  ) {
    this.ended = run(this.kill.signal, this).finally(() => clearTimeout(this.patience));
    this.ended.catch(() => undefined);
  }

  readonly ended: Promise<SandboxResult>;

  stop(): void {
    if (this.patience) return;
    if (this.door.terminate()) this.patience = setTimeout(() => this.kill.abort(), GRACE_MS);
    else this.kill.abort();
  }
}

@Injectable()
export class ServerPrograms {
  constructor(
    private readonly config: Config,
    private readonly sandboxes: ProgramSandboxes,
    private readonly folders: WorkspaceFolders,
    private readonly env: ServerEnv,
    private readonly authority: ServerAuthority,
    private readonly keys: ViewerKeyFile,
    private readonly leases: Leases,
  ) {}

  async start(
    server: ServerRow,
    instanceId: string,
    onOutput: (chunk: OutputChunk | { stream: 'system'; text: string }) => void,
  ): Promise<RunningProgram> {
    const workspace = {
      id: server.workspace_id,
      number: server.workspace_number,
      organization_id: server.organization_id,
    };
    const folder = await scratchFolder(this.config.scratchDir, 'atelier-server');
    const hasOwnPorts = !this.sandboxes.sharesNetwork;
    const [door, forgetKeys, port] = await Promise.all([
      SandboxDoor.open(folder, this.folders.ownerOf(workspace)),
      this.keys.keep(folder),
      server.port ?? (hasOwnPorts ? PORT : freePort()),
    ]);
    // Where this process stands still, or loses the database beside others, its servers end before those take them over.
    const beat = () => (this.leases.isFresh || this.leases.isAlone(serversTopic)) && door.beat();
    const heart = setInterval(beat, BEAT_MS).unref();
    door.once('open', beat);
    const said = new Set<string>();
    const run = async (signal: AbortSignal, program: RunningProgram): Promise<SandboxResult> => {
      try {
        return await this.sandboxes.run(workspace, {
          script: server.command,
          folder: server.folder,
          signal,
          onOutput,
          lease: this.leases.signalOf(serversTopic),
          caller: { kind: 'server', id: instanceId },
          actions: await this.authority.callerOf(server),
          uses: { actor: this.authority.actorOf(server), caller: { kind: 'server', id: server.id } },
          env: this.env.forProgram(server, port),
          limits: {
            memoryBytes: this.memoryLimit(server),
            processes: MAX_PROCESSES,
            openFiles: OPEN_FILES,
            tmpBytes: TMP_BYTES,
            wallMs: UNLIMITED,
            cpuSeconds: UNLIMITED,
            outputBytes: UNLIMITED,
          },
          bind: { from: folder, to: PROGRAM_FOLDER },
          prelude: ({ node, bind, relay }) => startDoor(node, bind, relay),
          onRefusal: message => {
            program.refused = message;
            if (said.size >= MAX_SAID || said.has(message)) return;
            said.add(message);
            onOutput({ stream: 'system', text: `${message}\n` });
          },
          onStarted: gauge => {
            program.usage = gauge;
          },
        });
      } finally {
        clearInterval(heart);
        forgetKeys();
        await door.close();
        await rm(folder, { recursive: true, force: true });
        await this.authority.endActions(server);
      }
    };
    return new RunningProgram(door, port, hasOwnPorts, run);
  }

  /** In bytes. */
  memoryLimit({ memory_bytes }: ServerRow): number {
    return Number(memory_bytes ?? Math.min(DEFAULT_MEMORY_BYTES, this.config.serverLimits.memory));
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : PORT;
}

import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import {
  type ActionCaller,
  ActionCatalog,
  ActionListing,
  ActionRunner,
} from '../../../platform/actions/index.js';
import { Config } from '../../../platform/config/index.js';
import { Log } from '../../../platform/log/index.js';
import { ActionSocket } from './action-socket.js';

/** Where the compiled command is, below the folder of the service's package. */
const COMMAND = 'dist/src/workspaces/sandboxes/actions/actions-command.js';

/** A host account. */
interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** A socket that listens, in a host folder that also holds the command to use it: `actions.sock`, `bin/actions`. */
export interface OpenActionSocket {
  readonly folder: string;
  /** Ends it, and leaves nothing behind. */
  close(): Promise<void>;
}

/**
 * Sockets for programs in sandboxes: whoever can reach one is the caller it was opened for, so each is shown to one
 * command alone and ends with it.
 */
@Injectable()
export class ActionSockets {
  private command: Promise<string> | undefined;

  constructor(
    private readonly catalog: ActionCatalog,
    private readonly listing: ActionListing,
    private readonly runner: ActionRunner,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** Listens for `caller`; `owner` is the account that connects, where it is not the service's own. */
  async open(caller: ActionCaller, owner: Owner | undefined): Promise<OpenActionSocket> {
    const { catalog, listing, runner, config, log } = this;
    await mkdir(config.scratchDir, { recursive: true });
    const folder = await mkdtemp(path.join(config.scratchDir, 'atelier-actions-'));
    const socket = new ActionSocket(caller, {
      catalog,
      listing,
      runner,
      log,
      mostBytes: config.maxBodyBytes,
    });
    const close = async () => {
      await socket.close();
      await rm(folder, { recursive: true, force: true });
    };
    try {
      await this.fill(folder, socket, owner);
      return { folder, close };
    } catch (error) {
      await close();
      throw error;
    }
  }

  private async fill(folder: string, socket: ActionSocket, owner: Owner | undefined): Promise<void> {
    this.command ??= readFile(commandPath(), 'utf8');
    await mkdir(path.join(folder, 'bin'));
    await writeFile(path.join(folder, 'bin', 'actions'), await this.command, { mode: 0o755 });
    const address = path.join(folder, 'actions.sock');
    await socket.listen(address);
    if (!owner) return;
    await chown(address, owner.uid, owner.gid);
    // Last: from here on the account reaches what is inside, and nobody else does.
    await chown(folder, owner.uid, owner.gid);
  }
}

function commandPath(): string {
  const manifest = findPackageJSON(import.meta.url);
  if (!manifest) throw new Error('The package of the service was not found');
  return path.join(path.dirname(manifest), COMMAND);
}

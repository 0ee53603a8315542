import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { proxyVariables, startRelay } from '#libs/egress-proxy/index.js';
import { createSandbox, type SandboxDriver, type SandboxRequest } from '#libs/sandbox/index.js';
import type { ActionCaller } from '../../platform/actions/index.js';
import { Config } from '../../platform/config/index.js';
import { type VisibleWorkspace, WorkspaceFolders } from '../core/index.js';
import { EgressSockets } from '../egress/index.js';
import { ActionSockets } from './actions/action-sockets.js';
import type { SandboxCaller } from './running-sandboxes.store.js';

const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];
const EGRESS_FOLDER = '/run/egress';
const ACTIONS_FOLDER = '/run/atelier';

export type WorkspaceRef = Pick<VisibleWorkspace, 'id' | 'number'>;

/** What every sandbox of a workspace has, until it is closed. */
export interface Environment {
  readonly request: Pick<SandboxRequest, 'workspace' | 'owner' | 'env' | 'readOnlyBinds'>;
  /** Shell commands to run first. */
  readonly prelude: string;
  readonly takeRefused: () => string[];
  close(): Promise<void>;
}

/** What commands find in a sandbox: the files, the command `actions`, the way to listed hosts. */
@Injectable()
export class SandboxEnvironments {
  readonly driver: SandboxDriver;
  /** As commands see it. */
  private readonly nodeFolder: string;

  constructor(
    config: Config,
    private readonly sockets: ActionSockets,
    private readonly egress: EgressSockets,
    private readonly folders: WorkspaceFolders,
  ) {
    const { driver, nodeFolder } = isolationOf(config);
    this.driver = driver;
    this.nodeFolder = nodeFolder;
  }

  filesOf(workspace: WorkspaceRef): Pick<SandboxRequest, 'workspace' | 'owner'> {
    return { workspace: this.folders.pathOf(workspace), owner: this.folders.ownerOf(workspace) };
  }

  async prepare(
    workspace: WorkspaceRef,
    caller: SandboxCaller,
    actions: ActionCaller | undefined,
  ): Promise<Environment> {
    const files = this.filesOf(workspace);
    const { owner } = files;
    const { isolated } = this.driver;
    // Without isolation there is a network already.
    const egress = isolated
      ? await this.egress.open({ workspaceId: workspace.id, owner, caller })
      : undefined;
    const socket = actions && (await this.sockets.open(actions, owner));
    const env: Record<string, string> = egress ? proxyVariables() : {};
    const readOnlyBinds = egress ? [{ from: egress.folder, to: EGRESS_FOLDER }] : [];
    if (socket) {
      const inside = isolated ? ACTIONS_FOLDER : socket.folder;
      env.PATH = [`${inside}/bin`, this.nodeFolder, ...SYSTEM_PATH].join(':');
      env.ACTIONS_SOCKET = `${inside}/actions.sock`;
      if (isolated) readOnlyBinds.unshift({ from: socket.folder, to: inside });
    }
    return {
      request: { ...files, env, readOnlyBinds },
      prelude: egress ? startRelay(`${this.nodeFolder}/node`, EGRESS_FOLDER) : '',
      takeRefused: () => egress?.takeRefused() ?? [],
      close: async () => {
        await Promise.all([socket?.close(), egress?.close()]);
      },
    };
  }
}

/** How code is isolated, and where commands find Node.js. */
interface Isolation {
  driver: SandboxDriver;
  nodeFolder: string;
}

function isolationOf(config: Config): Isolation {
  const folder = path.dirname(process.execPath);
  if (config.sandboxDriver === 'docker')
    return { driver: dockerDriver(config), nodeFolder: '/usr/local/bin' };
  const own = folder.startsWith('/usr') ? [] : [{ from: process.execPath, to: '/opt/node/bin/node' }];
  const driver = createSandbox(config.sandboxDriver, { readOnlyBinds: own });
  return { driver, nodeFolder: driver.isolated && own.length > 0 ? '/opt/node/bin' : folder };
}

function dockerDriver(config: Config): SandboxDriver {
  const volume = config.sandboxDockerVolume;
  return createSandbox('docker', {
    image: config.sandboxDockerImage,
    socketPath: config.sandboxDockerSocket,
    runtime: config.sandboxDockerRuntime,
    volume: volume === undefined ? undefined : { name: volume, mountedAt: path.resolve(config.dataDir) },
    scratchFolder: config.scratchDir,
  });
}

import path from 'node:path';
import { Injectable, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import { closedFolder, createSandbox, openingOf, type SandboxDriver } from '#libs/sandbox/index.js';
import { Config } from '../../platform/config/index.js';
import { Log } from '../../platform/log/index.js';

/** How code is isolated here. The log of a service that starts says what keeps it from running. */
@Injectable()
export class Isolation implements OnModuleInit, OnApplicationBootstrap {
  readonly driver: SandboxDriver;
  /** Where commands find Node.js, as they see it. */
  readonly nodeFolder: string;
  private checking: ReturnType<SandboxDriver['check']> | undefined;

  constructor(
    private readonly config: Config,
    private readonly log: Log,
  ) {
    const folder = path.dirname(process.execPath);
    if (config.sandboxDriver === 'docker') {
      this.driver = dockerDriver(config);
      this.nodeFolder = '/usr/local/bin';
      return;
    }
    const own = folder.startsWith('/usr') ? [] : [{ from: process.execPath, to: '/opt/node/bin/node' }];
    this.driver = createSandbox(config.sandboxDriver, { readOnlyBinds: own });
    this.nodeFolder = this.driver.isolated && own.length > 0 ? '/opt/node/bin' : folder;
  }

  /** The check waits for processes of its own: the service is made ready meanwhile. */
  onModuleInit(): void {
    if (!this.config.runsJobs) return;
    this.checking = this.driver.check();
    // Its failure is thrown where it is waited for.
    this.checking.catch(() => undefined);
  }

  async onApplicationBootstrap(): Promise<void> {
    const check = await this.checking;
    if (!check) return;
    if (!check.ok) this.log.warn({ driver: this.driver.name }, `code will not run: ${check.reason}`);
    else if (!this.driver.isolated)
      this.log.warn({ driver: this.driver.name }, 'code runs without isolation');
    this.warnOfClosedFolder();
  }

  /** Commands run as users of their own, who have to reach the workspace; a Docker engine mounts it. */
  private warnOfClosedFolder(): void {
    if (process.getuid?.() !== 0 || this.driver.name === 'docker') return;
    const closed = closedFolder(path.resolve(this.config.dataDir));
    if (closed === undefined) return;
    this.log.warn(
      { driver: this.driver.name },
      `commands and the history of files need a way to DATA_DIR, and ${closed} keeps other users out: ${openingOf(closed)}`,
    );
  }
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

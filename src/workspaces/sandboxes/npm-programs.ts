import { existsSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { type ReadOnlyBind, scratchFolder } from '#libs/sandbox/index.js';
import { Config } from '../../platform/config/index.js';
import { Unavailable } from '../../platform/errors/index.js';
import { Isolation } from './isolation.js';

/** Where a sandbox sees the package npm, and the commands that start it. */
const PACKAGE = '/opt/npm';
const COMMANDS = '/opt/npm-commands';

/** The commands npm and npx, for one sandbox. */
export interface OpenNpm {
  /** The folder with the commands, as the sandbox sees it; null where its image has npm. */
  readonly folder: string | null;
  readonly readOnlyBinds: ReadOnlyBind[];
  close(): Promise<void>;
}

/** Shows npm to the sandboxes that need it: the package that the service depends on, with the service's own Node.js. */
@Injectable()
export class NpmPrograms {
  constructor(
    private readonly config: Config,
    private readonly isolation: Isolation,
  ) {}

  async open(): Promise<OpenNpm> {
    const { driver, nodeFolder } = this.isolation;
    // Images with Node.js have npm beside it; the folders of the service may not be known to the engine.
    if (driver.name === 'docker') return { folder: null, readOnlyBinds: [], close: async () => undefined };
    const installed = packageFolder();
    const { scratchDir } = this.config;
    const folder = await scratchFolder(scratchDir, 'atelier-npm');
    const node = path.join(nodeFolder, 'node');
    const shown = driver.isolated ? PACKAGE : installed;
    for (const name of ['npm', 'npx']) {
      const program = `#!/bin/sh\nexec "${node}" "${shown}/bin/${name}-cli.js" "$@"\n`;
      await writeFile(path.join(folder, name), program, { mode: 0o755 });
    }
    // For the account that the command runs as.
    await chmod(folder, 0o755);
    const binds = [
      { from: installed, to: PACKAGE },
      { from: folder, to: COMMANDS },
    ];
    return {
      folder: driver.isolated ? COMMANDS : folder,
      readOnlyBinds: driver.isolated ? binds : [],
      close: () => rm(folder, { recursive: true, force: true }),
    };
  }
}

function packageFolder(): string {
  // Looked for beside the service, whatever the folder that it is started in.
  const own = findPackageJSON(import.meta.url);
  const folder = own && path.join(path.dirname(own), 'node_modules', 'npm');
  if (!folder || !existsSync(path.join(folder, 'bin', 'npm-cli.js')))
    throw new Unavailable('Nothing can be built here: the package npm is not installed beside the service');
  return folder;
}

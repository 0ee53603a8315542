import { Injectable } from '@nestjs/common';
import type { OutputChunk } from '#libs/sandbox/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { NoRoom } from '../../../workspaces/changes/index.js';
import { BuildFailure, FolderDependencies } from '../../builds/index.js';
import { type ServerRow, serversTopic } from '../records/servers.store.js';

interface InstallEvents {
  readonly onInstall: () => void;
  readonly onOutput: (chunk: OutputChunk | { stream: 'system'; text: string }) => void;
  readonly signal: AbortSignal;
}

@Injectable()
export class ServerDependencies {
  constructor(
    private readonly dependencies: FolderDependencies,
    private readonly leases: Leases,
  ) {}

  /** A failed command throws; a failed detected installation only logs, and the program starts without it. */
  async provide(server: ServerRow, { onInstall, onOutput, signal }: InstallEvents): Promise<void> {
    const { id, workspace_id, workspace_number, organization_id, folder, install_command, actor } = server;
    try {
      await this.dependencies.provide({
        workspace: { id: workspace_id, number: workspace_number, organization_id },
        id,
        folder,
        command: install_command,
        onInstall,
        writer: { type: 'sandbox', id: actor?.id ?? server.created_by ?? id },
        onLog: (stream, text) => onOutput({ stream, text }),
        signal: AbortSignal.any([signal, this.leases.signalOf(serversTopic)]),
      });
    } catch (error) {
      const isReason = error instanceof BuildFailure || error instanceof NoRoom;
      if (!isReason || install_command !== null) throw error;
      const text = `Its dependencies were not installed, and it starts without them. ${error.message}\n`;
      onOutput({ stream: 'system', text });
    }
  }
}

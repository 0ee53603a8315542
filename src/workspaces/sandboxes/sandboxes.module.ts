import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../changes/index.js';
import { CoreModule } from '../core/index.js';
import { EgressModule } from '../egress/index.js';
import { ActionSockets } from './actions/action-sockets.js';
import { FolderSandboxes } from './folder-sandboxes.js';
import { Isolation } from './isolation.js';
import { NamedShells } from './named-shells.js';
import { NpmPrograms } from './npm-programs.js';
import { ProgramSandboxes } from './program-sandboxes.js';
import { RecordedScripts } from './recorded-scripts.js';
import { RunningSandboxes } from './running-sandboxes.js';
import { RunningSandboxesStore } from './running-sandboxes.store.js';
import { SandboxControlService } from './sandbox-control.service.js';
import { SandboxSlots } from './sandbox-slots.js';
import { SandboxEnvironments, SandboxesService } from './sandboxes.service.js';
import { ShownFiles } from './shown-files.js';
import { SystemPrograms } from './system-programs.js';

/** Sandboxes: where commands of a workspace run. */
@Module({
  imports: [ChangesModule, CoreModule, EgressModule],
  controllers: [RoutesOf(SandboxControlService)],
  providers: [
    ActionSockets,
    FolderSandboxes,
    Isolation,
    NamedShells,
    NpmPrograms,
    ProgramSandboxes,
    RecordedScripts,
    RunningSandboxes,
    RunningSandboxesStore,
    SandboxControlService,
    SandboxEnvironments,
    SandboxSlots,
    SandboxesService,
    ShownFiles,
    SystemPrograms,
  ],
  exports: [
    FolderSandboxes,
    NamedShells,
    ProgramSandboxes,
    RecordedScripts,
    RunningSandboxes,
    SandboxesService,
    ShownFiles,
    SystemPrograms,
  ],
})
export class SandboxesModule {}

export { NamedShells } from './named-shells.js';
export { RunningSandboxes, SessionElsewhere } from './running-sandboxes.js';
export { SandboxesModule } from './sandboxes.module.js';
export { SandboxesService } from './sandboxes.service.js';
export type { ScriptResult } from './shell.js';
export { lostNote, notesOf, Shell } from './shell.js';

export { type FolderResult, FolderSandboxes } from './folder-sandboxes.js';
export { NamedShells } from './named-shells.js';
export { LANGUAGES, type Language, MAX_SCRIPT_RESULT, runPinned, SCRIPT_NAMES } from './pinned-script.js';
export { ProgramSandboxes } from './program-sandboxes.js';
export { RunningSandboxes, SessionElsewhere } from './running-sandboxes.js';
export { SandboxesModule } from './sandboxes.module.js';
export { SandboxesService, type ScriptResult, type Shell } from './sandboxes.service.js';
export { type FilesToShow, ShownFiles } from './shown-files.js';
export { SystemPrograms } from './system-programs.js';

import type { PackageManager } from './package-manager.js';

/** What a person set for a site; what is null or absent is detected. */
export interface ProjectSettings {
  preset?: string | null;
  install_command?: string | null;
  build_command?: string | null;
  /** Relative to the project's folder. */
  output_dir?: string | null;
  /** Heap of Node.js in MiB. */
  node_memory?: number | null;
}

/** Something that a person should know, of the form that static sites have, too. */
export interface ProjectFinding {
  level: 'error' | 'warning';
  file?: string;
  message: string;
}

export interface DetectedProject {
  /** `static`, `node`, or the name of a framework. */
  preset: string;
  needsBuild: boolean;
  /** Absent where nothing is to be installed. */
  manager?: PackageManager;
  /** Shell commands; absent where there is nothing to do. */
  install?: string;
  build?: string;
  /** Where the result will be, relative to the project's folder; '' is the folder itself. */
  output: string;
  /** Where it may be, in this order; the first that there is after the build counts. */
  outputs: readonly string[];
  /** Whether one page answers for all; undefined where that is not known. */
  spa?: boolean;
  findings: ProjectFinding[];
}

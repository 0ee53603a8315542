/** Settings by a person; null or absent ones are detected. */
export interface ProjectSettings {
  preset?: string | null;
  install_command?: string | null;
  build_command?: string | null;
  /** Relative to the project's folder. */
  output_dir?: string | null;
  /** Heap of Node.js in MiB. */
  node_memory?: number | null;
}

export interface ProjectFinding {
  level: 'error' | 'warning';
  file?: string;
  message: string;
}

export interface PackageManager {
  readonly name: 'npm' | 'pnpm' | 'yarn';
  /** Undefined for npm, which is installed already. */
  readonly version: string | undefined;
  /** Path of the lock file, if any. */
  readonly lock: string | undefined;
}

export interface DetectedProject {
  preset: string;
  needsBuild: boolean;
  manager?: PackageManager;
  /** Shell commands; absent if there is nothing to do. */
  install?: string;
  build?: string;
  /** Relative to the project's folder; '' is the folder itself. */
  output: string;
  /** Candidates for the output; the first that exists after the build is used. */
  outputs: readonly string[];
  /** Whether one page answers for all; undefined if unknown. */
  spa?: boolean;
  findings: ProjectFinding[];
}

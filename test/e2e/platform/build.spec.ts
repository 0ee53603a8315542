import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

/** A project with the scripts of this one, and two lines of source. */
class Project {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'atelier-build-'));

  constructor() {
    const { folder } = this;
    const own = (name: string) => path.resolve(name);
    cpSync(own('scripts'), path.join(folder, 'scripts'), { recursive: true });
    for (const name of ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'])
      cpSync(own(name), path.join(folder, name));
    symlinkSync(own('node_modules'), path.join(folder, 'node_modules'));
    mkdirSync(path.join(folder, 'src'));
    this.write('vault.ts', 'export {};\n');
    this.write('word.ts', "export const word: string = 'first';\n");
    this.write('main.ts', "import { word } from './word.js';\nprocess.stdout.write(word);\n");
  }

  write(name: string, text: string): void {
    writeFileSync(this.source(name), text);
  }

  source(name: string): string {
    return path.join(this.folder, 'src', name);
  }

  built(name: string): string {
    return path.join(this.folder, 'dist', name);
  }

  build(): void {
    execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: this.folder, stdio: 'pipe' });
  }

  /** What the built program says. */
  says(): string {
    return execFileSync(process.execPath, [this.built('bundle/main.js')], { encoding: 'utf8' });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

describe('a build', () => {
  let project: Project;
  beforeEach(() => {
    project = new Project();
    project.build();
  });
  afterEach(() => project.remove());

  it('is not made again where nothing has changed', () => {
    const before = statSync(project.built('bundle/main.js'));
    project.build();
    const { ino, mtimeMs } = statSync(project.built('bundle/main.js'));
    expect({ ino, mtimeMs }).toEqual({ ino: before.ino, mtimeMs: before.mtimeMs });
    expect(project.says()).toBe('first');
  });

  it('follows a source of which neither size nor time tells that it has changed', () => {
    const { atime, mtime } = statSync(project.source('word.ts'));
    project.write('word.ts', "export const word: string = 'other';\n");
    utimesSync(project.source('word.ts'), atime, mtime);
    project.build();
    expect(project.says()).toBe('other');
    expect(readFileSync(project.built('src/word.js'), 'utf8')).toContain('other');
  });

  it('follows a source that comes, and one that goes', () => {
    project.write('more.ts', "export const word: string = 'second';\n");
    project.write('main.ts', "import { word } from './more.js';\nprocess.stdout.write(word);\n");
    rmSync(project.source('word.ts'));
    project.build();
    expect(project.says()).toBe('second');
    expect(existsSync(project.built('src/word.js'))).toBe(false);
  });

  it('that failed is made again', () => {
    project.write('word.ts', "export const word: string = 'broken;\n");
    expect(() => project.build()).toThrow('does not compile');
    expect(() => project.build()).toThrow('does not compile');
    project.write('word.ts', "export const word: string = 'first';\n");
    project.build();
    expect(project.says()).toBe('first');
  });
});

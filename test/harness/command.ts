import { execFile } from 'node:child_process';
import path from 'node:path';

/** What users start. */
export const SERVICE = 'dist/bundle/main.js';

/** What a process of ours takes over from the test's: it keeps what Node.js compiled for the next one, as users' do. */
export function baseEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = path.resolve('.cache/compile') } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE };
}

/** Runs a built program to its end. */
export function command(
  file: string,
  words: readonly string[],
  environment: Record<string, string>,
): Promise<{ code: number; said: string }> {
  const env = { ...baseEnvironment(), ...environment };
  return new Promise(resolve => {
    execFile(process.execPath, [file, ...words], { env }, (error, out, err) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, said: out + err }),
    );
  });
}

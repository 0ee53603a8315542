import { execFile } from 'node:child_process';

/** Runs a built program to its end. */
export function command(
  file: string,
  words: readonly string[],
  environment: Record<string, string>,
): Promise<{ code: number; said: string }> {
  const { PATH = '', HOME = '' } = process.env;
  return new Promise(resolve => {
    execFile(process.execPath, [file, ...words], { env: { PATH, HOME, ...environment } }, (error, out, err) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, said: out + err }),
    );
  });
}

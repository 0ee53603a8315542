import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import path from 'node:path';

const PLACE = /(?:file:\/\/)?(\/[^\s()]*\/dist\/bundle\/[^\s()/]+\.js):(\d+):(\d+)/g;

const maps = new Map<string, SourceMap | undefined>();

/** A stack trace with the places in our sources for those in the bundle. Places in packages stay as they are. */
export function sourceStack(stack: string): string {
  return stack.replace(PLACE, (place: string, file: string, line: string, column: string) => {
    const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
    // What is nearest before a place in a package lies on another line.
    if (!entry || !('originalSource' in entry) || entry.generatedLine !== Number(line) - 1) return place;
    const source = path.resolve(path.dirname(file), entry.originalSource);
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  });
}

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(file));
  return maps.get(file);
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')));
  } catch {
    return undefined; // the stack is of use as it is, too
  }
}

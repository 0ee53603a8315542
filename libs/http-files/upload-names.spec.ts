import { describe, expect, it } from '@jest/globals';
import { sanitised } from './upload-names.js';

describe('the name of a file that is handed in', () => {
  it.each([
    ['report.pdf', 'report.pdf'],
    ['Über uns.md', 'Über uns.md'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\ada\\plan.txt', 'plan.txt'],
    ['.bashrc', 'bashrc'],
    ['...', 'file'],
    ['', 'file'],
    ['a/', 'file'],
    ['line\nbreak\0.txt', 'line_break_.txt'],
    ['gpj\u202e.exe', 'gpj_.exe'],
    ['what?<b>.txt', 'what__b_.txt'],
    ['.atelier-tmp-0123', 'atelier-tmp-0123'],
    ['half \ud800', 'half \ufffd'],
  ])('%j becomes %j', (given, name) => {
    expect(sanitised(given)).toBe(name);
  });

  it('is cut to what file systems take, its ending kept', () => {
    const name = sanitised(`${'ü'.repeat(400)}.tar.gz`);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
    expect(name).toMatch(/^ü+\.gz$/);
  });

  it('is cut between whole characters', () => {
    expect(sanitised(`a${'😀'.repeat(70_000)}.txt`)).toBe(`a${'😀'.repeat(48)}.txt`);
  });
});

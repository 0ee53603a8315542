import { describe, expect, it } from '@jest/globals';
import { makePdf } from '../../test/fakes/pdf.js';
import { notebookText } from './notebook-text-task.js';
import { pdfText } from './pdf-text-task.js';

const limits = { characters: 100_000, ms: 60_000 };

describe('the text of a PDF', () => {
  it('is that of its pages, in order', async () => {
    const bytes = makePdf([['Hello there', 'Second line'], [], ['The end']]);
    expect(await pdfText({ bytes, limits })).toEqual({
      fault: null,
      text: [
        '(PDF, 3 pages)',
        '--- page 1 ---',
        'Hello there\nSecond line',
        '--- page 2 ---',
        '(no text: it may be a picture)',
        '--- page 3 ---',
        'The end',
      ].join('\n'),
    });
    // The bytes are still the caller's.
    expect(bytes.byteLength).toBeGreaterThan(100);
  });

  it('ends where it is too long', async () => {
    const bytes = makePdf([['a'.repeat(60)], ['b'], ['c']]);
    const { text } = await pdfText({ bytes, limits: { ...limits, characters: 50 } });
    expect(text).toBe(
      `(PDF, 3 pages)\n--- page 1 ---\n${'a'.repeat(50)}\n(pages 2 to 3 are left out: it is too long)`,
    );
    const late = await pdfText({ bytes, limits: { ...limits, ms: 0 } });
    expect(late.text).toBe('(PDF, 3 pages)\n(pages 1 to 3 are left out: it is too long)');
  });

  it('says that it cannot be had', async () => {
    const broken = await pdfText({ bytes: Buffer.from('%PDF-1.4\nnothing more'), limits });
    expect(broken).toEqual({ text: null, fault: 'broken' });
  });
});

describe('the text of a notebook', () => {
  it('is its cells with what they gave out', () => {
    const notebook = {
      nbformat: 4,
      metadata: { kernelspec: { display_name: 'Python 3' } },
      cells: [
        { cell_type: 'markdown', source: ['# Title\n', 'Words'] },
        {
          cell_type: 'code',
          execution_count: 3,
          source: 'print(1)\n1 + 1',
          outputs: [
            { output_type: 'stream', name: 'stdout', text: ['1\n'] },
            {
              output_type: 'execute_result',
              data: { 'text/plain': ['2'], 'text/html': '<b>2</b>', 'image/png': 'QUJD' },
            },
          ],
        },
        {
          cell_type: 'code',
          execution_count: null,
          source: [],
          outputs: [
            { output_type: 'error', ename: 'E', evalue: 'v', traceback: ['\u001b[31mE\u001b[0m: v'] },
          ],
        },
      ],
    };
    expect(notebookText(JSON.stringify(notebook))).toBe(
      `(notebook, 3 cells, Python 3; the file itself is JSON)
--- cell 1 (markdown) ---
# Title
Words
--- cell 2 (code, run as [3]) ---
print(1)
1 + 1
--- output of cell 2 ---
1
2
(image/png, 4 characters, left out)
--- cell 3 (code) ---

--- output of cell 3 ---
E: v`,
    );
  });

  it('shows the beginning and the end of a long output', () => {
    const outputs = [{ output_type: 'stream', text: `${'a'.repeat(4000)}${'b'.repeat(4000)}` }];
    const text = notebookText(JSON.stringify({ cells: [{ cell_type: 'code', source: '', outputs }] }));
    expect(text).toContain(`${'a'.repeat(2500)}\n… 3000 characters left out …\n${'b'.repeat(2500)}`);
  });

  it.each(['', 'null', '[]', '{}', '{"cells": 1}', '{"cells": ['])('is none where it is %s', source => {
    expect(notebookText(source)).toBeNull();
  });

  it('takes cells that are not as they should be', () => {
    expect(notebookText('{"cells": [null, 1, {}, {"source": 5, "outputs": [null, {"data": 1}]}]}')).toBe(
      '(notebook, 2 cells; the file itself is JSON)\n--- cell 1 (unknown) ---\n\n--- cell 2 (unknown) ---\n',
    );
  });
});

import { describe, expect, it } from '@jest/globals';
import { renderMarkdown, renderSheet } from './index.js';

const beside = (path: string) => (path.includes('..') ? undefined : `/s/token/path/${path}`);

describe('Markdown', () => {
  it('has relative links lead where the caller says, without what follows the path', () => {
    expect(renderMarkdown('[a](plan.md?x#y)', beside)).toContain(
      '<a href="/s/token/path/plan.md" rel="noreferrer nofollow">a</a>',
    );
    expect(renderMarkdown('[a](../plan.md)', beside)).toBe('<p><a>a</a></p>\n');
    expect(renderMarkdown('[a](#part)', beside)).toContain('href="#part"');
    expect(renderMarkdown('[a](https://example.com/x)', beside)).toContain('href="https://example.com/x"');
  });

  it.each([
    ['a script', '<script>alert(1)</script>', '&lt;script&gt;'],
    ['an address that runs', '[a](javascript:alert(1))', '[a](javascript:alert(1))'],
    ['one of another scheme', '[a](ftp://example.com)', '<a>a</a>'],
    ['one without a scheme', '[a](//example.com)', '<a>a</a>'],
  ])('neutralizes %s', (_, text, shown) => {
    expect(renderMarkdown(text, beside)).toContain(shown);
  });

  it('shows pictures from beside it, and links to others', () => {
    expect(renderMarkdown('![a "b"](cat.png)', beside)).toContain(
      '<img src="/s/token/path/cat.png?raw=1" alt="a &quot;b&quot;" loading="lazy">',
    );
    expect(renderMarkdown('![](https://example.com/cat.png)', beside)).toContain(
      '<a href="https://example.com/cat.png" rel="noreferrer nofollow">https://example.com/cat.png</a>',
    );
    expect(renderMarkdown('![cat](data:image/png;base64,AA)', beside)).not.toContain('<img');
  });

  it('has no front matter and no style attributes', () => {
    const html = renderMarkdown('---\ntitle: x\n---\n|a|\n|-:|\n|1|\n', beside);
    expect(html).not.toMatch(/title|style/);
    expect(html).toContain('<td class="n">1</td>');
  });
});

describe('a table', () => {
  it('is escaped, and has numbers in cells of their own class', () => {
    const { html, cut } = renderSheet('name,amount\n<b>,"1,5"\nAda,-2%\n', 'a.csv') ?? {
      html: '',
      cut: true,
    };
    expect(html).toContain('<th scope="col" class="">name</th><th scope="col" class="n">amount</th>');
    expect(html).toContain(
      '<tr><th scope="row">1</th><td class="">&lt;b&gt;</td><td class="n">1,5</td></tr>',
    );
    expect(cut).toBe(false);
  });

  it.each([
    ['a.csv', 'a;b\n1;2\n'],
    ['a.csv', '\uFEFFa;b\r\n1;2\n1;2\r\r\n'],
    ['a.csv', 'a;b\r1;2\r'],
    ['a.csv', 'a\tb\n1\t2\n'],
    ['a.tsv', 'a\tb\n1\t2\n'],
  ])('of %s %j has its own delimiter', (name, text) => {
    expect(renderSheet(text, name)?.html).toContain('<td class="n">1</td><td class="n">2</td>');
  });

  it('is cut where it is long or wide, and is none where nothing is in it', () => {
    const long = renderSheet(`a\n${'1\n'.repeat(501)}`, 'a.csv');
    expect(long?.cut).toBe(true);
    expect(long?.html.match(/scope="row"/g)).toHaveLength(500);
    expect(renderSheet(Array.from({ length: 51 }, (_, n) => n).join(','), 'a.csv')?.cut).toBe(true);
    expect(renderSheet('', 'a.csv')).toBeUndefined();
  });
});

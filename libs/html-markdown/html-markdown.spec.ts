import { describe, expect, it } from '@jest/globals';
import { htmlToMarkdown } from './html-markdown-task.js';

const base = 'https://example.com/guide/start.html';
const markdownOf = (html: string) => htmlToMarkdown({ html, base }).markdown;

describe('a page as Markdown', () => {
  it('keeps headings, lists, code, tables and whole links', () => {
    const html = `<!doctype html><html><head><title> The
      guide &amp; more </title><style>p { color: red }</style></head><body>
      <h1>Guide</h1><p>Read <a href="../next?a=1">the <b>next</b> part</a>, or <a href="#top">the top</a>.</p>
      <ul><li>One</li><li>Two<ol><li>Deep</li></ol></li></ul>
      <pre><code class="language-js">const a = 1;
  b();</code></pre>
      <table><thead><tr><th>Name</th><th>Size</th></tr></thead><tbody><tr><td>a|b</td><td>1</td></tr></tbody></table>
      <img src="a.png" alt="A picture"><img src="pixel.gif">
      <script>alert('never')</script><noscript>turn it on</noscript></body></html>`;
    expect(htmlToMarkdown({ html, base })).toEqual({
      title: 'The guide & more',
      markdown: `# Guide

Read [the **next** part](https://example.com/next?a=1), or the top.

-   One
-   Two
    1.  Deep

\`\`\`js
const a = 1;
  b();
\`\`\`

| Name | Size |
| --- | --- |
| a\\|b | 1   |

![A picture](https://example.com/guide/a.png)`,
    });
  });

  it('leaves out addresses that run or carry something', () => {
    expect(markdownOf('<a href="javascript:alert(1)">run</a> <a href="data:text/html,x">data</a>')).toBe(
      'run data',
    );
    expect(markdownOf('<a href="/a(b)">brackets</a>')).toBe('[brackets](https://example.com/a%28b%29)');
  });

  it('takes what is no HTML, and nothing', () => {
    expect(htmlToMarkdown({ html: '', base })).toEqual({ title: null, markdown: '' });
    expect(markdownOf('just <words')).toBe('just');
    expect(markdownOf('1 &lt; 2')).toBe('1 < 2');
  });
});

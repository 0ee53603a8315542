import { describe, expect, it } from '@jest/globals';
import { writeLetter } from './letter.js';

describe('writeLetter', () => {
  const letter = {
    heading: 'Join <Research>',
    paragraphs: ['"Ada" & Grace invite you.', 'It ends tomorrow.'],
    action: { label: 'Join', url: 'https://atelier.example.com/join?token=a&x="1"' },
    footer: 'Not you? Ignore it.',
  };

  it('says the same as text and as HTML', () => {
    const { text, html } = writeLetter(letter);
    for (const part of ['It ends tomorrow.', 'Not you? Ignore it.', 'Join'])
      expect([text.includes(part), html.includes(part)]).toEqual([true, true]);
    expect(text).toContain('Join:\nhttps://atelier.example.com/join?token=a&x="1"\n');
  });

  it('lets nothing that it is told become markup', () => {
    const { html } = writeLetter(letter);
    expect(html).toContain('Join &lt;Research&gt;');
    expect(html).toContain('&quot;Ada&quot; &amp; Grace');
    expect(html).toContain('href="https://atelier.example.com/join?token=a&amp;x=&quot;1&quot;"');
  });

  it('is whole without a link and small print', () => {
    const { text, html } = writeLetter({ heading: 'Done', paragraphs: ['That is all.'] });
    expect(text).toBe('Done\n\nThat is all.\n');
    expect(html).not.toContain('<a ');
  });
});

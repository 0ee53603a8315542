import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { type Person, TestService } from '../harness/service.js';
import { DESKTOP, fitsWidth, launchChromium, launchWholeChromium, PHONE, picturesOf } from './launch.js';

const shoot = picturesOf('share', false);
const WIDTHS = [
  ['desktop', { viewport: DESKTOP }],
  ['phone', { viewport: PHONE, isMobile: true, hasTouch: true }],
  ['desktop-dark', { viewport: DESKTOP, colorScheme: 'dark' }],
] as const;

const NOTES = `# Field notes, autumn 2026

What we saw along the *northern transect*, in the order we walked it. The numbers are in
[the table](measurements.csv); the photograph is from the third day.

## Method

1. Walk the line twice, once in each direction.
2. Count every plot within \`2 m\` of it.
   - skip plots under water
   - note the light
3. Write it down **at once**.

> A number that is not written down was never measured.

![The valley on the third day](photos/valley.png)

| Plot | Species | Cover |
|------|---------|------:|
| N-01 | Molinia caerulea | 45 % |
| N-02 | Calluna vulgaris | 30 % |

\`\`\`python
def cover(plots):
    return sum(p.cover for p in plots) / len(plots)
\`\`\`

<img src=x onerror="document.title='ran'"> [bad](javascript:document.title='ran')
`;
const PLACES = ['North ridge', 'Old mill', 'Lower meadow, by the long wooden footbridge', 'Spring'];
const TABLE = [
  'plot,place,species,cover,height_cm,observed_at',
  ...Array.from({ length: 60 }, (_, n) =>
    [
      `N-${String(n + 1).padStart(2, '0')}`,
      `"${PLACES[n % PLACES.length]}"`,
      n % 2 ? 'Calluna vulgaris' : 'Molinia caerulea',
      `${(n * 7) % 90}.${n % 10}`,
      12 + ((n * 13) % 60),
      `2026-10-${String((n % 28) + 1).padStart(2, '0')}`,
    ].join(','),
  ),
].join('\n');
const PROGRAM = `import { readFile } from 'node:fs/promises';

/** The mean cover of all plots of a table, in percent. */
export async function meanCover(file: string): Promise<number> {
  const [, ...rows] = (await readFile(file, 'utf8')).trim().split('\\n');
  const covers = rows.map(row => Number(row.split(',')[3]));
  if (covers.some(cover => Number.isNaN(cover))) throw new RangeError(\`A cover in \${file} is no number; look at the table again\`);
  return covers.reduce((sum, cover) => sum + cover, 0) / covers.length;
}
`;

let service: TestService;
let chromium: Browser;
let ada: Person;
let workspace: string;
let origin: string;

beforeAll(async () => {
  chromium = await launchChromium();
  service = await TestService.start();
  ada = await service.person('Ada Lovelace');
  workspace = await service.workspace(ada, { name: 'Research' });
  origin = `http://share.localhost:${new URL(service.url).port}`;
  await put('Field notes/README.md', NOTES);
  await put('Field notes/measurements.csv', TABLE);
  await put('Field notes/mean-cover.ts', PROGRAM);
  await put('Field notes/photos/valley.png', await picture());
  await put('Field notes/report.pdf', pdf('Peat and heath, a report'));
  await put('Field notes/raw/day-1.log', 'start\n');
  await put('Field notes/sound.mp3', Buffer.alloc(2000));
  await put('Field notes/archive with a rather long name of its own.tar.zst', Buffer.alloc(1_340_000));
  await put(
    'Field notes/page.html',
    '<script>document.title = "ran"; fetch("/api/auth/me")</script><h1>Hi</h1>',
  );
  await put('Inbox/first.txt', 'x');
});
afterAll(async () => {
  await chromium?.close();
  await service?.stop();
});

async function put(name: string, body: string | Buffer): Promise<void> {
  const address = `/api/workspaces/${workspace}/files/upload?path=${encodeURIComponent(name)}`;
  const { status } = await ada.client.raw('PUT', address, { body: Uint8Array.from(Buffer.from(body)) });
  if (status !== 200) throw new Error(`writing ${name} answered ${status}`);
}

/** A landscape, painted by the browser itself. */
async function picture(): Promise<Buffer> {
  const page = await chromium.newPage({ viewport: { width: 1600, height: 1000 } });
  await page.setContent(
    '<body style="margin:0;height:100vh;background:radial-gradient(circle at 72% 30%,#fff3c4 0 6%,transparent 7%),radial-gradient(ellipse at 20% 110%,#2d5a3d 0 45%,transparent 46%),radial-gradient(ellipse at 85% 120%,#41795a 0 50%,transparent 51%),linear-gradient(#89b7e8,#f7d9b5 70%)">',
  );
  const bytes = await page.screenshot();
  await page.close();
  return bytes;
}

/** A document of one page with one line. */
function pdf(line: string): Buffer {
  const text = `BT /F1 28 Tf 72 720 Td (${line}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let body = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const at = body.length;
    body += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(at).padStart(10, '0')} 00000 n \n`;
  });
  const start = body.length;
  return Buffer.from(
    `${body}xref\n0 6\n0000000000 65535 f \n${offsets.join('')}trailer << /Size 6 /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`,
  );
}

/** Makes a link; answers its address on the port that this service has got. */
async function share(fields: object): Promise<string> {
  const { body } = await ada.client.post('/api/share', {
    workspace_id: workspace,
    path: 'Field notes',
    allow: 'download',
    ...fields,
  });
  return origin + new URL(body.url).pathname;
}

/** A window without JavaScript, and what its pages were refused. */
async function open(
  options: BrowserContextOptions,
  browser = chromium,
): Promise<{ context: BrowserContext; page: Page; refused: string[] }> {
  const context = await browser.newContext({ javaScriptEnabled: false, ...options });
  const page = await context.newPage();
  const refused: string[] = [];
  page.on('console', message => {
    // Its own styles and scripts, which the driver puts into pages to take pictures, are refused by right.
    if (/^(Refused to |)(loading|load|framing|frame) /i.test(message.text())) refused.push(message.text());
  });
  return { context, page, refused };
}

/** Of a picture, once it is there to be seen. */
const naturalWidth = (picture: unknown): Promise<number> => {
  const image = picture as { decode(): Promise<void>; naturalWidth: number };
  return image.decode().then(() => image.naturalWidth);
};

describe.each(WIDTHS)('on a %s', (width, options) => {
  it('a folder is walked through: its read-me, a table, a program, a photograph, and back', async () => {
    const at = await share({});
    const { context, page, refused } = await open({ ...options, javaScriptEnabled: true });
    await page.goto(at);
    expect(await page.title()).toBe('Field notes');
    await page.getByText('northern transect').waitFor();
    const loaded = await page.locator('.prose img').evaluate(naturalWidth);
    expect(loaded).toBe(1600);
    await shoot(page, `${width}-folder`, true);
    expect(await fitsWidth(page)).toBe(true);

    for (const [name, shot] of [
      ['measurements.csv', 'csv'],
      ['mean-cover.ts', 'code'],
      ['README.md', 'markdown'],
      ['page.html', 'html'],
      ['archive with a rather long name of its own.tar.zst', 'card'],
    ] as const) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name, exact: true }).waitFor();
      await shoot(page, `${width}-${shot}`);
      expect([name, await fitsWidth(page)]).toEqual([name, true]);
      await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link').click();
      await page.getByRole('heading', { name: 'Field notes', exact: true }).waitFor();
    }
    await page.getByRole('link', { name: 'photos' }).click();
    await page.getByRole('link', { name: 'valley.png' }).click();
    await page.getByRole('img', { name: 'valley.png' }).evaluate(naturalWidth);
    await shoot(page, `${width}-image`);
    expect(await fitsWidth(page)).toBe(true);
    expect(await page.title()).toBe('valley.png');
    expect(refused).toEqual([]);
    await context.close();
  });

  it('a password is asked for, refused when wrong, and opens the page that was wanted', async () => {
    const at = await share({ password: 'open sesame' });
    const { context, page } = await open(options);
    await page.goto(`${at}/path/mean-cover.ts`);
    await shoot(page, `${width}-password`);
    await page.getByLabel('Password').fill('sesame');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await shoot(page, `${width}-password-wrong`);
    await page.getByLabel('Password').fill('open sesame');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('heading', { name: 'mean-cover.ts' }).waitFor();
    await page.goto(`${at}/path/photos/valley.png`);
    const cookies = await context.cookies(at);
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Lax', path: new URL(at).pathname }]);
    expect(await context.cookies(service.url)).toEqual([]);
    await context.close();
  });

  it('files are handed in without JavaScript', async () => {
    const at = await share({ path: 'Inbox', allow: 'upload' });
    const { context, page } = await open(options);
    await page.goto(at);
    await shoot(page, `${width}-drop`);
    await page.getByLabel('Files').setInputFiles([
      { name: 'first.txt', mimeType: 'text/plain', buffer: Buffer.from('another') },
      { name: 'Über uns.md', mimeType: 'text/plain', buffer: Buffer.from('# x') },
    ]);
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.getByRole('status').waitFor();
    expect(await page.getByRole('status').textContent()).toMatch(/first \(\d\)\.txt/);
    expect(await page.getByRole('status').textContent()).toContain('Über uns');
    await shoot(page, `${width}-drop-done`);
    await context.close();
  });

  it('an unknown link says so', async () => {
    const { context, page } = await open(options);
    await page.goto(`${origin}/s/nothing`);
    await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
    await shoot(page, `${width}-unknown`);
    await context.close();
  });
});

describe('in a browser', () => {
  it('a PDF is shown in its page', async () => {
    const at = await share({});
    const browser = await launchWholeChromium();
    try {
      const { page, refused } = await open({ viewport: DESKTOP, javaScriptEnabled: true }, browser);
      const answered = page.waitForResponse(response => response.url().endsWith('report.pdf?raw=1'));
      await page.goto(`${at}/path/report.pdf`);
      expect((await answered).status()).toBe(200);
      await page.locator('object').waitFor();
      await shoot(page, 'pdf');
      expect(refused).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  it('a page of the share host gets no cookie of the service, and its files run nothing', async () => {
    const at = await share({});
    const { context, page } = await open({ viewport: DESKTOP, javaScriptEnabled: true });
    const api = service.url.replace('127.0.0.1', 'localhost');
    await context.addCookies([{ name: 'session', value: 'secret', url: api, httpOnly: true }]);
    const sent = page.waitForRequest(request => request.url() === at);
    await page.goto(at);
    expect((await (await sent).allHeaders()).cookie).toBeUndefined();
    await page.goto(`${at}/path/page.html`);
    expect(await page.title()).toBe('page.html');
    const download = page.waitForEvent('download');
    await page.goto(`${at}/path/page.html?raw=1`).catch(() => undefined);
    expect((await download).suggestedFilename()).toBe('page.html');
    await context.close();
  });

  it('times are in the zone and language of the visitor, and in UTC without scripts', async () => {
    const at = `${await share({})}/path/mean-cover.ts`;
    const shown = async (options: BrowserContextOptions) => {
      const { context, page } = await open({ viewport: DESKTOP, ...options });
      await page.goto(at);
      const time = page.locator('time');
      const [text, iso] = [await time.textContent(), (await time.getAttribute('datetime')) ?? ''];
      await context.close();
      return { text, iso };
    };
    const inTokyo = { timezoneId: 'Asia/Tokyo', locale: 'de-DE' };
    const local = await shown({ ...inTokyo, javaScriptEnabled: true });
    const words = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'Asia/Tokyo' } as const;
    expect(local.text).toBe(new Date(local.iso).toLocaleString('de-DE', words));
    expect((await shown(inTokyo)).text).toMatch(/ UTC$/);
  });

  it('everything is reached by the keyboard', async () => {
    const { context, page } = await open({ viewport: DESKTOP });
    await page.goto(await share({}));
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Skip to the content');
    await shoot(page, 'focus');
    for (let n = 0; n < 5; n++) await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('photos');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'photos' }).waitFor();
    await context.close();
  });
});

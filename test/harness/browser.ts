interface Cookie {
  value: string;
  path: string;
}

/** A page, or the address outside the service that the browser was sent to. */
export interface Visit {
  status: number;
  url: URL;
  html: string;
  headers: Headers;
}

/** Walks through pages as a browser without JavaScript does: cookies, forms, redirects. */
export class Browser {
  private readonly cookies = new Map<string, Cookie>();

  constructor(
    private readonly origin: string,
    private readonly userAgent = 'Test browser',
  ) {}

  open(address: string | URL): Promise<Visit> {
    return this.request(new URL(address, this.origin), {});
  }

  /** Opens a page at which one signs in, and does so unless one is signed in there. */
  async openAs(
    address: string | URL,
    { email, password }: { email: string; password: string },
  ): Promise<Visit> {
    const page = await this.open(address);
    return page.html.includes('name="password"') ? this.submit(page, '/sign-in', { email, password }) : page;
  }

  /** Sends the form of `page` whose address ends in `action`, with what it holds and `fields`. */
  submit(page: Visit, action: string, fields: Record<string, string | string[]>): Promise<Visit> {
    const form = formsOf(page.html).find(each => each.action.endsWith(action));
    if (!form) throw new Error(`${page.url.pathname} (${page.status}) has no form ${action}: ${page.html}`);
    const body = new URLSearchParams(form.hidden);
    for (const [name, value] of Object.entries(fields)) {
      body.delete(name);
      for (const each of [value].flat()) body.append(name, each);
    }
    return this.request(new URL(form.action, page.url), { method: 'POST', body });
  }

  /** Sends a form to an address, whatever page it may be from. */
  send(address: string | URL, fields: Record<string, string>): Promise<Visit> {
    return this.request(new URL(address, this.origin), { method: 'POST', body: new URLSearchParams(fields) });
  }

  private async request(url: URL, init: RequestInit): Promise<Visit> {
    if (url.origin !== this.origin) return { status: 0, url, html: '', headers: new Headers() };
    const headers = {
      cookie: this.cookiesFor(url),
      accept: 'text/html',
      'user-agent': this.userAgent,
    };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const cookie of response.headers.getSetCookie()) this.keep(cookie);
    const location = response.headers.get('location');
    if (location) {
      await response.body?.cancel();
      return this.request(new URL(location, url), {});
    }
    return { status: response.status, url, html: await response.text(), headers: response.headers };
  }

  private cookiesFor({ pathname }: URL): string {
    return [...this.cookies]
      .filter(([, { path }]) => pathname.startsWith(path))
      .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`)
      .join('; ');
  }

  private keep(header: string): void {
    const [pair = '', ...attributes] = header.split('; ');
    const name = pair.slice(0, pair.indexOf('='));
    const value = pair.slice(name.length + 1);
    const path = attributes.find(each => each.toLowerCase().startsWith('path='))?.slice(5) ?? '/';
    const key = `${name} ${path}`;
    if (value === '') this.cookies.delete(key);
    else this.cookies.set(key, { value, path });
  }
}

function formsOf(html: string): { action: string; hidden: Record<string, string> }[] {
  return [...html.matchAll(/<form[^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/gs)].map(
    ([, action = '', inner = '']) => ({
      action,
      hidden: Object.fromEntries(
        [...inner.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name, value]) => [
          name,
          value,
        ]),
      ),
    }),
  );
}

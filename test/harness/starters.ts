import type { ProjectFiles } from './project-build.js';

/** The smallest project of a framework: what to expect of its build, and the files. */
export interface Starter {
  preset: string;
  /** A file of the result, and what it holds. */
  shows: [file: string, text: RegExp];
  files: ProjectFiles;
}

const manifest = (build: string, dependencies: Record<string, string>, more = {}) => ({
  name: 'starter',
  private: true,
  type: 'module',
  scripts: { build },
  devDependencies: dependencies,
  ...more,
});

export const starters: Record<string, Starter> = {
  vite: {
    preset: 'vite',
    shows: ['index.html', /<script type="module" crossorigin src="\/assets\/index-[\w-]+\.js">/],
    files: {
      'package.json': manifest('vite build', { vite: '8.3.8' }),
      'index.html':
        '<!doctype html><title>Vite</title><div id="app"></div><script type="module" src="/main.ts"></script>',
      'main.ts': 'const text: string = "Hello"; document.querySelector("#app")!.textContent = text;\n',
    },
  },
  eleventy: {
    preset: 'eleventy',
    shows: ['index.html', /<h1>Hello<\/h1>/],
    files: {
      'package.json': manifest('eleventy', { '@11ty/eleventy': '3.1.8' }),
      'index.md': '# Hello\n',
    },
  },
  astro: {
    preset: 'astro',
    shows: ['index.html', /<h1>Hello 2<\/h1>/],
    files: {
      'package.json': manifest('astro build', { astro: '7.3.5' }),
      'src/pages/index.astro': '---\nconst sum = 1 + 1;\n---\n<h1>Hello {sum}</h1>\n',
    },
  },
  sveltekit: {
    preset: 'sveltekit',
    shows: ['index.html', /<h1>Hello 2<\/h1>/],
    files: {
      'package.json': manifest('vite build', {
        '@sveltejs/kit': '3.2.0',
        '@sveltejs/adapter-static': '4.0.1',
        '@sveltejs/vite-plugin-svelte': '7.3.1',
        svelte: '5.57.3',
        vite: '8.3.8',
      }),
      'vite.config.js':
        "import adapter from '@sveltejs/adapter-static';\nimport { sveltekit } from '@sveltejs/kit/vite';\nexport default { plugins: [sveltekit({ adapter: adapter() })] };\n",
      'src/app.html': '<!doctype html><head>%sveltekit.head%</head><body>%sveltekit.body%</body>',
      'src/routes/+layout.js': 'export const prerender = true;\n',
      'src/routes/+page.svelte': '<h1>Hello {1 + 1}</h1>\n',
    },
  },
  nuxt: {
    preset: 'nuxt',
    shows: ['index.html', /<h1>Hello 2<\/h1>/],
    files: {
      'package.json': manifest('nuxt generate', { nuxt: '4.5.2' }),
      'app.vue': '<template><h1>Hello {{ 1 + 1 }}</h1></template>\n',
    },
  },
  next: {
    preset: 'next',
    shows: ['index.html', /<h1>Hello (<!-- -->)?2<\/h1>/],
    files: {
      'package.json': manifest('next build', { next: '16.4.6', react: '19.3.1', 'react-dom': '19.3.1' }),
      'next.config.mjs': "export default { output: 'export' };\n",
      'app/layout.js':
        'export default function Layout({ children }) { return <html><body>{children}</body></html>; }\n',
      'app/page.js': 'export default function Page() { return <h1>Hello {1 + 1}</h1>; }\n',
    },
  },
  // Without a theme, which would bring several hundred packages more.
  docusaurus: {
    preset: 'docusaurus',
    shows: ['index.html', /<h1>Hello<\/h1>/],
    files: {
      'package.json': {
        ...manifest('docusaurus build', {
          '@docusaurus/core': '3.10.2',
          '@docusaurus/plugin-content-pages': '3.10.2',
          '@mdx-js/react': '3.1.1',
          react: '19.3.1',
          'react-dom': '19.3.1',
        }),
        type: undefined,
      },
      'docusaurus.config.js':
        "module.exports = { title: 'T', url: 'https://example.com', baseUrl: '/', plugins: ['@docusaurus/plugin-content-pages'] };\n",
      'src/pages/index.js':
        "import React from 'react';\nexport default function Page() { return <h1>Hello</h1>; }\n",
    },
  },
};

/** Lists of hosts by name. */
export const presets = {
  /** Where npm, yarn, pip, cargo, go, gem, maven, composer and apt find what they install. */
  'package-registries': [
    'registry.npmjs.org',
    'registry.yarnpkg.com',
    'pypi.org',
    'files.pythonhosted.org',
    'crates.io',
    'index.crates.io',
    'static.crates.io',
    'proxy.golang.org',
    'sum.golang.org',
    'rubygems.org',
    'index.rubygems.org',
    'repo.maven.apache.org',
    'repo1.maven.org',
    'repo.packagist.org',
    'deb.debian.org',
    'security.debian.org',
  ],
} as const satisfies Record<string, readonly string[]>;

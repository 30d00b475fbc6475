// A private certificate authority for the tests, made with the command-line tool of OpenSSL.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const hasOpenSsl = spawnSync('openssl', ['version']).status === 0;

/** The paths of a certificate and of its private key, both in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const NEW_KEY_OPTIONS = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' ');

export class CertificateAuthority {
  private readonly folder = mkdtempSync(join(tmpdir(), 'order-lookup-ca-'));
  private serial = 1;
  private readonly root = this.pathsOf('ca');
  /** The path of the authority's own certificate. */
  readonly cert = this.root.cert;

  constructor() {
    const { cert, key } = this.root;
    openssl('req', '-x509', ...NEW_KEY_OPTIONS, '-subj', '/CN=Tests only', '-keyout', key, '-out', cert);
  }

  /**
   * @param name the common name
   * @param subjects alternative names, such as `IP:127.0.0.1` or `DNS:localhost`; none for a client
   */
  issue(name: string, ...subjects: string[]): Certificate {
    this.serial++;
    const issued = this.pathsOf(`${this.serial}`);
    const request = this.pathOf('request.pem');
    const extensions = this.pathOf('extensions.cnf');
    writeFileSync(extensions, subjects.length > 0 ? `subjectAltName=${subjects.join()}\n` : '');
    openssl('req', ...NEW_KEY_OPTIONS, '-subj', `/CN=${name}`, '-keyout', issued.key, '-out', request);
    const signer = ['-CA', this.root.cert, '-CAkey', this.root.key];
    const signed = ['-in', request, '-extfile', extensions, '-out', issued.cert];
    openssl('x509', '-req', ...signed, ...signer, '-set_serial', `${this.serial}`, '-days', '2');
    return issued;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private pathOf(name: string): string {
    return join(this.folder, name);
  }

  private pathsOf(name: string): Certificate {
    return { cert: this.pathOf(`${name}.pem`), key: this.pathOf(`${name}.key`) };
  }
}

function openssl(...words: string[]): void {
  execFileSync('openssl', words, { stdio: 'pipe' });
}

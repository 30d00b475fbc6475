import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Reply } from './raw.js';

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}
export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly securitySchemes: Readonly<Record<string, { readonly flows?: object }>>;
  };
}

/** Holds the replies of the operations against the OpenAPI document of the same service. */
export class Contract {
  private readonly ajv = new Ajv2020({ strict: false });

  private constructor(readonly document: OpenApiDocument) {
    formats.default(this.ajv);
    this.ajv.addSchema({ $id: 'document', ...document });
  }

  static async of(serviceUrl: string): Promise<Contract> {
    const response = await fetch(`${serviceUrl}/openapi.json`);
    return new Contract((await response.json()) as OpenApiDocument);
  }

  /** @throws Error where an operation answered what the document does not describe; other addresses are not looked at */
  check(method: string, target: string, { status, headers, text }: Reply): void {
    const [path = ''] = target.split('?');
    const operation = this.document.paths[path]?.get;
    if (!operation || (method !== 'GET' && method !== 'HEAD')) return;
    const name = `${method} ${path} ${status}`;
    const described = operation.responses[status];
    if (!described) throw new Error(`${name} is not described in /openapi.json`);
    const type = headers.get('content-type') ?? '';
    const media = described.content?.[type];
    if (text === '' ? method === 'GET' && described.content : !media)
      throw new Error(`${name}: the content type "${type}" is not described`);
    if (!media || text === '') return;
    const place = ['paths', path, 'get', 'responses', status, 'content', type, 'schema'];
    const pointer = place.map((key) => String(key).replaceAll('/', '~1')).join('/');
    if (!this.ajv.validate(`document#/${pointer}`, JSON.parse(text)))
      throw new Error(`${name} does not fit its schema: ${this.ajv.errorsText()}\n${text}`);
  }
}

import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { type Reply, fetchReply } from './exchange.js';

interface Reference {
  readonly $ref: string;
}
interface Header {
  readonly required?: boolean;
  readonly schema: { readonly type: string };
}
interface Example {
  readonly value: { readonly type: string; readonly title: string; readonly status: number };
}
interface Media {
  readonly schema: Reference;
  readonly examples?: Readonly<Record<string, Example | Reference>>;
}
interface Response {
  readonly headers: Readonly<Record<string, Header | Reference>>;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
}
interface Operation {
  readonly parameters: readonly (Parameter | Reference)[];
  readonly responses: Readonly<Record<string, Response | Reference>>;
}
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly version: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

/** The headers that an OpenAPI document need not describe, because HTTP or CORS defines them. */
const UNDESCRIBED_HEADERS = /^(?:connection|keep-alive|date|content-type|content-length|vary|access-control-.*)$/;

/** Compares replies of the operations with an OpenAPI document. */
export class Contract {
  private readonly ajv = new Ajv2020({ strict: false }); // an OpenAPI document has keywords that Ajv does not know

  constructor(readonly document: OpenApiDocument) {
    formats.default(this.ajv);
    this.ajv.addSchema({ $id: 'document', ...document });
  }

  /** Fetches the document of a running service. */
  static async fetch(serviceUrl: string): Promise<Contract> {
    const { status, text } = await fetchReply(`${serviceUrl}/openapi.json`);
    if (status !== 200) throw new Error(`/openapi.json: ${status} ${text}`);
    return new Contract(JSON.parse(text) as OpenApiDocument);
  }

  operation(path: string): Operation | undefined {
    return this.document.paths[path]?.get;
  }

  /** Returns the response that is described for a status, also if the operation only refers to a component. */
  response(path: string, status: number): Response | undefined {
    const response = this.operation(path)?.responses[status];
    return response && this.resolve<Response>(response);
  }

  /** Returns all examples of problem documents, with their status and their name. */
  problemExamples(path: string) {
    const statuses = Object.keys(this.operation(path)?.responses ?? {}).map(Number);
    return statuses.flatMap((status) => {
      const media = this.response(path, status)?.content?.['application/problem+json'];
      return Object.entries(media?.examples ?? {}).map(([slug, example]) => {
        const { value } = this.resolve<Example>(example);
        return { status, slug, value };
      });
    });
  }

  parameters(path: string): Parameter[] {
    const parameters = this.operation(path)?.parameters ?? [];
    return parameters.map((parameter) => this.resolve<Parameter>(parameter));
  }

  /** Returns what in the value does not fit the schema, or undefined if the value fits. */
  findFault(schema: object, value: unknown): string | undefined {
    // `#/components/…` becomes `document#/components/…`, because the constructor has added the document by this id
    const absolute = '$ref' in schema ? { $ref: `document${String(schema.$ref)}` } : schema;
    return this.ajv.validate(absolute, value) ? undefined : this.ajv.errorsText();
  }

  /**
   * Compares a reply with the document, if it is the reply of an operation.
   * @throws Error if the document does not describe the reply
   */
  check(method: string, target: string, reply: Reply): void {
    const [fullPath = ''] = target.split('?');
    const path = this.withoutBasePath(fullPath);
    const isOfOperation = this.operation(path) !== undefined && ['GET', 'HEAD'].includes(method);
    if (!isOfOperation) return;
    const response = this.response(path, reply.status);
    const faults = response
      ? [
          ...this.describedHeaderFaults(response, reply),
          ...undescribedHeaderFaults(response, reply),
          ...this.bodyFaults(response, reply, method),
        ]
      : ['the status is not described'];
    if (faults.length > 0) throw new Error(`${method} ${path} ${reply.status}: ${faults.join('; ')}\n${reply.text}`);
  }

  private describedHeaderFaults({ headers: described }: Response, { headers }: Reply): string[] {
    const faults: string[] = [];
    for (const [name, reference] of Object.entries(described)) {
      const { required, schema } = this.resolve<Header>(reference);
      const text = headers.get(name);
      if (text === null) {
        if (required) faults.push(`${name} is missing`);
        continue;
      }
      const fault = this.findFault(schema, schema.type === 'integer' ? Number(text) : text);
      if (fault) faults.push(`${name} is ${text}: ${fault}`);
    }
    return faults;
  }

  private bodyFaults({ content }: Response, { headers, text }: Reply, method: string): string[] {
    const type = headers.get('content-type');
    if (!content) return type === null && text === '' ? [] : ['a body is not described'];
    const media = content[type ?? ''];
    if (!media) return [`the content type ${type} is not described`];
    if (method === 'HEAD') return text === '' ? [] : ['HEAD has a body'];
    const fault = this.findFault(media.schema, JSON.parse(text));
    return fault ? [fault] : [];
  }

  /** Removes BASE_PATH from a path, because the document has BASE_PATH in the URL of the server. */
  private withoutBasePath(path: string): string {
    const [server] = this.document.servers;
    const { pathname } = new URL(server?.url ?? '/', 'http://localhost');
    const basePath = pathname.replace(/\/$/, '');
    return path.startsWith(basePath) ? path.slice(basePath.length) : path;
  }

  private resolve<T extends object>(part: T | Reference): T {
    if (!('$ref' in part)) return part;
    const keys = part.$ref.replace('#/', '').split('/');
    let found: unknown = this.document;
    for (const key of keys) found = (found as Record<string, unknown>)[key];
    return found as T;
  }
}

function undescribedHeaderFaults({ headers: described }: Response, { headers }: Reply): string[] {
  const known = new Set(Object.keys(described).map((name) => name.toLowerCase()));
  const others = [...headers.keys()].filter((name) => !known.has(name) && !UNDESCRIBED_HEADERS.test(name));
  return others.map((name) => `${name} is not described`);
}

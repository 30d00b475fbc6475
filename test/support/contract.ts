import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where each worker leaves its counts, a line of JSON each. */
const COUNTS = join(process.cwd(), 'test', 'output', 'contract.ndjson');

interface Media {
  readonly schema: object;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly get: {
          readonly responses: Readonly<
            Record<string, { readonly content?: Readonly<Record<string, Media>> }>
          >;
        };
      }
    >
  >;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly securitySchemes: Readonly<
      Record<
        string,
        {
          readonly flows?: object;
        }
      >
    >;
  };
}

interface CheckedReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

type Validator = ((value: unknown) => boolean) & { errors?: unknown };

/** Holds the replies of the operations against the OpenAPI document of the same service, and counts them. */
export class Contract {
  private readonly validators = new Map<string, Validator>();
  private readonly counts = new Map<string, number>();

  private constructor(
    readonly document: OpenApiDocument,
    private readonly compile: (schema: object) => Validator,
  ) {}

  static async of(serviceUrl: string): Promise<Contract> {
    const [{ Ajv2020 }, { default: formats }] = await Promise.all([
      import('ajv/dist/2020.js'),
      import('ajv-formats'),
    ]);
    const document = (await (await fetch(`${serviceUrl}/openapi.json`)).json()) as OpenApiDocument;
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    ajv.addSchema({ $id: 'document', components: document.components });
    return new Contract(document, (schema) =>
      ajv.compile(
        JSON.parse(
          JSON.stringify(schema).replaceAll('#/components', 'document#/components'),
        ) as object,
      ),
    );
  }

  /** @throws Error where an operation answered what the document does not describe; other addresses are not looked at */
  check(method: string, target: string, { status, headers, text }: CheckedReply): void {
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
    if (media && text !== '') {
      const validate = this.validators.get(name) ?? this.compile(media.schema);
      this.validators.set(name, validate);
      if (!validate(JSON.parse(text)))
        throw new Error(
          `${name} does not fit its schema: ${JSON.stringify(validate.errors)}\n${text}`,
        );
    }
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  /** Leaves the counts for the summary at the end of all tests. */
  save(): void {
    mkdirSync(dirname(COUNTS), { recursive: true });
    appendFileSync(COUNTS, `${JSON.stringify(Object.fromEntries(this.counts))}\n`);
  }
}

export const forgetCounts = (): void => rmSync(COUNTS, { force: true });

/** How many replies of which operation and status were held against the document, in words; nothing where none was. */
export function countsInWords(): string {
  if (!existsSync(COUNTS)) return '';
  const sums = new Map<string, number>();
  for (const line of readFileSync(COUNTS, 'utf8').split('\n').filter(Boolean))
    for (const [name, count] of Object.entries(JSON.parse(line) as Record<string, number>))
      sums.set(name, (sums.get(name) ?? 0) + count);
  const total = [...sums.values()].reduce((sum, count) => sum + count, 0);
  return [
    `${total} replies fit /openapi.json:`,
    ...[...sums].map(([name, count]) => `  ${name}: ${count}`).toSorted(),
    '',
  ].join('\n');
}

import { ViewColumn, ViewEntity } from 'typeorm';

/** A communication code that a transaction inserted, updated or deleted, by its former or its new key; by none where it emptied the table. */
@ViewEntity({ name: 'communication_code_change', synchronize: false })
export class CommunicationCodeChange {
  /** An xid8. */
  @ViewColumn({ name: 'transaction_id' })
  transactionId: string;

  @ViewColumn({ name: 'code_type' })
  codeType: string | null;

  @ViewColumn()
  code: string | null;
}

/** The account's keys from one browser or device of a person to another: the steps of both sides on the account's page (docs/encryption.md). */

const typingsMax = 3;
const pauseMilliseconds = 1000;
const receiptPausesMax = 120;
const pause = () => new Promise((done) => setTimeout(done, pauseMilliseconds));
const spaced = (digits) => `${digits.slice(0, 3)} ${digits.slice(3)}`;
const shortID = (id) => id.slice(0, 12);

const reasons = {
  refused: "Another device of yours has refused. Nothing was given.",
  expired: "The request has expired, or was taken back. Ask again on the new device.",
  codesDiffer: "The codes differ. Nothing was given: someone may stand between your devices and the cloud. Ask again; if it happens again, do not use this cloud.",
  contradicted: "The cloud changed the request while it was under way. Nothing was given. Do not use this cloud.",
};

/** A request that ends without keys. */
class ApprovalError extends Error {
  constructor(outcome) {
    super(reasons[outcome]);
    this.outcome = outcome;
  }
}

/** What a person recognises a request by. */
export const nameOf = ({ name, isBrowser, deviceID, address }) => {
  const kind = isBrowser ? "browser" : "device";
  return `${name || `A ${kind} without a name`} (${kind} ${shortID(deviceID)}, from ${address})`;
};

/**
 * The exchanges of a page.
 *
 * @param {object} page `post`, which sends a request of the session that `isOver` tells to be over; `encryption`; `protocol`, which is key-approval.js.
 */
export function approvals({ post, isOver, encryption, protocol }) {
  const { fromBase64, toBase64, same } = encryption;

  async function list() {
    const { requests } = await post("approvals/list", {});
    return requests;
  }

  /** Looks at a request until something is found in it. */
  async function until(isWanted, find) {
    while (true) {
      const request = (await list()).find(isWanted);
      if (!request || isOver()) throw new ApprovalError("expired");
      if (request.state === "refused") throw new ApprovalError("refused");
      const found = await find(request);
      if (found) return found;
      await pause();
    }
  }

  /** Takes digits as a person types them, at most three times: the codes of one request do not change, so that another attempt gives a lying cloud no other chance. */
  async function typed(digits, ask) {
    for (let attempt = 1; attempt <= typingsMax; attempt += 1) {
      if (protocol.isTyped(encryption, await ask(attempt > 1), digits)) return;
    }
    throw new ApprovalError("codesDiffer");
  }

  /** What does not open, or is no key, is what the cloud has put there. */
  function contradicted(error) {
    throw error instanceof encryption.EncryptionError ? new ApprovalError("contradicted") : error;
  }

  const refuse = (device) => post("approvals/refuse", { device });

  return {
    refuse,
    /** The requests of other devices that wait for this account's keys, oldest first. */
    waiting: async () => (await list()).filter((request) => !request.isCaller && request.state === "waiting"),

    /**
     * Asks the account's other devices for its keys.
     *
     * @param {object} person `asked({deviceID, expires})` and `code(digits)` show how far it is; `confirmation(isAgain)` asks for the digits that the other device shows.
     * @param {boolean} isExtractable Whether the secret can be wrapped again.
     * @returns {Promise<object>} The secret, the identity and its keys; nothing is kept before the person has typed the digits.
     */
    async ask(person, isExtractable) {
      const request = await protocol.makeRequest(encryption);
      const commitment = toBase64(request.commitment);
      const asked = await post("approvals/create", { commitment });
      const { deviceID: device } = asked;
      person.asked(asked);
      let [approval, answered] = [null, null];
      const find = async (own) => {
        // The first answer counts: another one, after the key was revealed, could have been searched for.
        if (answered && (own.answer !== answered.answer || own.approver !== answered.approver)) throw new ApprovalError("contradicted");
        if (!answered && own.approver && own.answer) {
          answered = own;
          const identity = await encryption.publicIdentity(fromBase64(own.identity));
          const { publicKey, nonce } = request;
          approval = new protocol.KeyApproval(encryption, { device, approver: own.approver, publicKey, nonce, answer: fromBase64(own.answer), identity });
          await post("approvals/reveal", { publicKey: toBase64(publicKey), nonce: toBase64(nonce) });
          person.code(spaced(await approval.code()));
        }
        return approval && own.sealed && approval.open(fromBase64(own.sealed), request.privateKey, isExtractable);
      };
      const { secret, keys } = await until((listed) => listed.isCaller && listed.deviceID === device && listed.commitment === commitment, find).catch(async (error) => {
        // The other device need not wait for an exchange that is over; a later request of this page is another one.
        if (!isOver()) await refuse(device).catch(() => {});
        contradicted(error);
      });
      await typed(await approval.confirmation(), person.confirmation);
      // The keys are here; that the other device learns of it is a courtesy.
      await post("approvals/finish", { receipt: toBase64(await approval.receipt(secret)) }).catch(() => {});
      return { secret, identity: approval.identity, keys };
    },

    /**
     * Gives a device the account's keys.
     *
     * @param {object} request As `waiting` lists it.
     * @param {object} own The name of this session, and the account's secret as a key that can be wrapped.
     * @param {object} person `code(isAgain)` asks for the digits that the new device shows; `confirmation(digits)` shows those that it asks for.
     * @returns {Promise<boolean>} Whether the new device has shown that it opened the keys.
     */
    async approve(request, { deviceID: approver, secret }, person) {
      const { deviceID: device, created } = request;
      const isIt = (listed) => listed.deviceID === device && listed.created === created;
      // Drawn when the commitment is here, and not before.
      const answer = protocol.makeAnswer();
      await post("approvals/answer", { device, nonce: toBase64(answer) });
      const revealed = await until(isIt, (listed) => listed.publicKey && listed.nonce && listed);
      let approval;
      try {
        const [publicKey, nonce] = [revealed.publicKey, revealed.nonce].map(fromBase64);
        const identity = await encryption.identityKeys(secret);
        approval = await protocol.KeyApproval.of(encryption, fromBase64(request.commitment), { device, approver, publicKey, nonce, answer, identity });
        await typed(await approval.code(), person.code);
      } catch (error) {
        await refuse(device).catch(() => {});
        contradicted(error);
      }
      await post("approvals/approve", { device, sealed: toBase64(await approval.seal(secret)) });
      person.confirmation(spaced(await approval.confirmation()));
      const receipt = await approval.receipt(secret);
      for (let looks = 0; looks < receiptPausesMax && !isOver(); looks += 1) {
        const listed = (await list()).find(isIt);
        if (listed?.receipt && same(fromBase64(listed.receipt), receipt)) return true;
        await pause();
      }
      return false;
    },
  };
}

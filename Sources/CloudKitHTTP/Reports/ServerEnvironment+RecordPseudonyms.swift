import CloudKitAccounts
import CloudKitLogs
import Crypto

extension ServerEnvironment {
    /// The pseudonyms by which the log of this cloud knows records.
    package var recordPseudonyms: RecordPseudonyms {
        let key = HMAC<SHA256>.authenticationCode(
            for: Array("welkin log record names 1".utf8), using: SymmetricKey(data: secret))
        return RecordPseudonyms(key: Array(key.prefix(16)))
    }
}

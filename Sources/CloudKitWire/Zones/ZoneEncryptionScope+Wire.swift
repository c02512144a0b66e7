import CloudKitModel
import JSONBytes

extension ZoneEncryptionScope {
    init?(wireWord: String) {
        switch wireWord {
        case "PER_RECORD": self = .perRecord
        case "PER_ZONE": self = .perZone
        default: return nil
        }
    }
}

extension JSONWriter {
    /// Says what the keys in a zone belong to, where that is not the rule: the web services know nothing of it.
    mutating func encryptionScope(_ scope: ZoneEncryptionScope) {
        guard scope == .perZone else { return }
        key("encryptionScope")
        word("PER_ZONE")
    }
}

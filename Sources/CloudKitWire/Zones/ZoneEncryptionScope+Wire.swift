import CloudKitModel
import JSONBytes

extension ZoneEncryptionScope {
    var wireName: StaticString {
        switch self {
        case .perRecord: "PER_RECORD"
        case .perZone: "PER_ZONE"
        }
    }

    init?(word: String) {
        switch word {
        case "PER_RECORD": self = .perRecord
        case "PER_ZONE": self = .perZone
        default: return nil
        }
    }
}

extension JSONWriter {
    /// Writes the scope of the keys in a zone, where it is not the default: the web services do not know it.
    mutating func encryptionScope(_ scope: ZoneEncryptionScope) {
        guard scope != .perRecord else { return }
        key("encryptionScope")
        word(scope.wireName)
    }
}

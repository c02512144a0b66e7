import CloudKitEncryption
import Crypto

/// Measurements of sealing on the device against the cipher alone.
extension Bench {
    private static let chunk = 65_536

    /// Measures sealing asset chunks against AES-256-GCM of the same number of bytes through the same library.
    func assetSealing() throws -> Comparison {
        var comparison = Comparison(
            id: "s", title: "sealing an asset in chunks of 64 KiB / AES-256-GCM of the same chunks", unit: "MB/s",
            bound: .atLeast, target: 0.50)
        let chunks = options.isQuick ? 256 : 4096
        let size = chunks * Self.chunk
        let file = [UInt8](repeating: 7, count: Self.chunk)
        let sealer = try AssetSealer(AssetSecret(plainSize: size, plainSHA256: [UInt8](repeating: 1, count: 32)))
        let key = SymmetricKey(size: .bits256)
        var output: [UInt8] = []
        for _ in 0..<rounds {
            let ours = try seconds {
                for index in 0..<chunks {
                    output.removeAll(keepingCapacity: true)
                    try sealer.seal(chunk: index, file, into: &output)
                }
            }
            let theirs = try seconds {
                for _ in 0..<chunks { _ = try AES.GCM.seal(file, using: key) }
            }
            comparison.measured.append(Double(size) / ours / 1e6)
            comparison.yardstick.append(Double(size) / theirs / 1e6)
        }
        comparison.remarks = [try fieldRemark()]
        return comparison
    }

    /// Measures a record of 5 encrypted fields of 100 bytes.
    private func fieldRemark() throws -> String {
        let records = options.isQuick ? 200 : 4000
        let root = AccountSecret().root(container: Self.container, environment: "development")
        let zone = root.zoneKey(owner: "_bench", zone: "Notes", epoch: 0)
        let plain = [UInt8](repeating: 65, count: 100)
        let fields = (0..<5).map { "field\($0)" }
        var sealed: [[UInt8]] = []
        let sealing = try seconds {
            for number in 0..<records {
                let sealer = RecordSealer(zone.recordKey("note-\(number)"), recordType: "Note")
                sealed = try fields.map { try sealer.seal(plain, field: $0, type: "ENCRYPTED_STRING") }
            }
        }
        let sealer = RecordSealer(zone.recordKey("note-\(records - 1)"), recordType: "Note")
        let opening = try seconds {
            for _ in 0..<records {
                for (field, value) in zip(fields, sealed) {
                    _ = try sealer.open(value, field: field, type: "ENCRYPTED_STRING")
                }
            }
        }
        func micros(_ seconds: Double) -> String { "\((seconds / Double(records) * 1e7).rounded() / 10)" }
        return "a record's key and 5 fields of 100 bytes: \(micros(sealing)) µs to seal, \(micros(opening)) µs to open"
    }

    /// Returns the seconds that a body takes.
    func seconds(_ body: () throws -> Void) rethrows -> Double {
        let time = try ContinuousClock().measure(body)
        return Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    }
}

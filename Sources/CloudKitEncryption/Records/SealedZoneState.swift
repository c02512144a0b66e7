/// A change that a device made, or saw, as its state of the zone lists it.
package struct StatedChange: Hashable, Sendable {
    /// 7 bytes of a hash of the record's name.
    package var record: UInt64
    /// The number of the record's version; of a deleted record, the last one that the device knew.
    package var version: UInt64
    /// 23 bits of the tag of that version's statement.
    package var tag: UInt32
    /// A Boolean value that indicates whether the record was deleted.
    package var isDeletion: Bool
    /// The last 4 bytes of the record's creation in milliseconds since 1970, which a record that is created again does not share.
    package var created: UInt32

    /// Creates a value with the given properties.
    package init(record: UInt64, version: UInt64, tag: UInt32, isDeletion: Bool, created: UInt32) {
        self.record = record
        self.version = version
        self.tag = tag
        self.isDeletion = isDeletion
        self.created = created
    }
}

/// The state of a zone as one device of an account knows it, for the account's other devices: they compare it with what the cloud
/// shows them.
package struct ZoneState: Hashable, Sendable {
    /// The highest key epoch of the zone that the device has seen.
    package var epoch: UInt32
    /// The numbers of the states of other devices that the device has seen, by device.
    package var others: [ZoneStateDevice: UInt64]
    /// The device's newest changes, the oldest first, each record once.
    package var changes: [StatedChange]

    /// More than these are not read.
    package static let changesMax = 64
    /// More than these are not read.
    package static let devicesMax = 64

    /// Creates a value with the given properties.
    package init(epoch: UInt32, others: [ZoneStateDevice: UInt64], changes: [StatedChange]) {
        self.epoch = epoch
        self.others = others
        self.changes = changes
    }
}

/// The name of a device in one zone: the mark of the account's key, so that states under other keys are known as such, and 8
/// random bytes.
package struct ZoneStateDevice: Hashable, Sendable {
    /// 12 bytes.
    package let bytes: [UInt8]

    static let byteCount = 12
    static let markBytes = 4

    /// 24 hexadecimal digits.
    package var text: String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// Reads 24 hexadecimal digits; nil for anything else.
    package init?(text: String) {
        let digits = text.utf8.compactMap { digit -> UInt8? in
            switch digit {
            case 48...57: digit - 48
            case 97...102: digit - 87
            default: nil
            }
        }
        guard digits.count == 2 * Self.byteCount, text.utf8.count == digits.count else { return nil }
        bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    init(bytes: [UInt8]) { self.bytes = bytes }
}

/// The key under which the devices of an account seal their states of one zone.
package struct ZoneStateKey: Hashable, Sendable {
    private let place: ZoneAddress
    private let material: KeyMaterial
    private let mark: [UInt8]

    fileprivate init(_ root: ContainerRoot, _ place: ZoneAddress) {
        self.place = place
        var info = Frame("welkin zone state key 1")
        info.append(place.frame)
        material = root.material.derive(info)
        var devices = Frame("welkin zone state devices 1")
        devices.append(place.frame)
        mark = Array(root.material.derive(devices).bytes.prefix(ZoneStateDevice.markBytes))
    }

    package static func == (one: Self, other: Self) -> Bool { one.place == other.place && one.mark == other.mark }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(place)
        hasher.combine(mark)
    }

    /// Makes a name for a device.
    package func newDevice(random: Randomness = .system) -> ZoneStateDevice {
        ZoneStateDevice(bytes: mark + random.bytes(ZoneStateDevice.byteCount - ZoneStateDevice.markBytes))
    }

    /// Returns a Boolean value that indicates whether a device seals under this key.
    package func isOwn(_ device: ZoneStateDevice) -> Bool { device.bytes.starts(with: mark) }

    /// Seals the state of a device.
    ///
    /// - Parameters:
    ///   - number: More than that of every earlier state of the device.
    ///   - incarnation: The zone's, as the cloud names it.
    package func seal(
        _ state: ZoneState, of device: ZoneStateDevice, number: UInt64, incarnation: String,
        random: Randomness = .system
    ) throws(EncryptionError) -> [UInt8] {
        guard state.changes.count <= ZoneState.changesMax else {
            throw .tooMany(.zoneState, limit: ZoneState.changesMax)
        }
        guard state.others.count <= ZoneState.devicesMax else {
            throw .tooMany(.zoneState, limit: ZoneState.devicesMax)
        }
        var plain: [UInt8] = []
        plain.appendBigEndian(state.epoch)
        plain.append(UInt8(state.others.count))
        for (other, number) in state.others.sorted(by: { $0.key.text < $1.key.text }) {
            plain += other.bytes
            plain.appendBigEndian(number)
        }
        plain.append(UInt8(state.changes.count))
        for change in state.changes {
            plain.append(change.record, count: 7)
            plain.append(change.version, count: 6)
            plain.append(UInt64(change.tag & 0x7F_FFFF) | (change.isDeletion ? 0x80_0000 : 0), count: 3)
            plain.appendBigEndian(change.created)
        }
        return try material.seal(
            plain, header: [1], authenticating: frame(device, number, incarnation), item: .zoneState, random: random)
    }

    /// Opens the state of a device.
    package func open(
        _ sealed: [UInt8], of device: ZoneStateDevice, number: UInt64, incarnation: String
    ) throws(EncryptionError) -> ZoneState {
        var outer = ByteReader(sealed, of: .zoneState)
        try outer.takeVersion()
        let plain = try material.open(
            outer.takeRest(), authenticating: frame(device, number, incarnation), item: .zoneState)
        var reader = ByteReader(plain, of: .zoneState)
        var state = ZoneState(epoch: try reader.takeNumber(), others: [:], changes: [])
        let others = Int(try reader.takeNumber(UInt8.self))
        guard others <= ZoneState.devicesMax else { throw .tooMany(.zoneState, limit: ZoneState.devicesMax) }
        for _ in 0..<others {
            let other = ZoneStateDevice(bytes: Array(try reader.take(ZoneStateDevice.byteCount)))
            state.others[other] = try reader.takeNumber(UInt64.self)
        }
        let changes = Int(try reader.takeNumber(UInt8.self))
        guard changes <= ZoneState.changesMax else { throw .tooMany(.zoneState, limit: ZoneState.changesMax) }
        for _ in 0..<changes {
            let record = try reader.takeNumber(bytes: 7)
            let version = try reader.takeNumber(bytes: 6)
            let tag = UInt32(try reader.takeNumber(bytes: 3))
            state.changes.append(
                StatedChange(
                    record: record, version: version, tag: tag & 0x7F_FFFF, isDeletion: tag & 0x80_0000 != 0,
                    created: try reader.takeNumber()))
        }
        try reader.finish()
        return state
    }

    private func frame(_ device: ZoneStateDevice, _ number: UInt64, _ incarnation: String) -> Frame {
        var frame = Frame("welkin zone state 1")
        frame.append(place.frame)
        frame.append(incarnation)
        frame.append(device.bytes)
        frame.append(number)
        return frame
    }
}

extension ContainerRoot {
    /// Returns the key of the states of a zone.
    package func stateKey(of zone: ZoneAddress) -> ZoneStateKey { ZoneStateKey(self, zone) }
}

extension [UInt8] {
    /// Appends the last bytes of a number, big-endian.
    fileprivate mutating func append(_ number: UInt64, count: Int) {
        for shift in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: number >> (8 * UInt64(shift)))) }
    }
}

extension ByteReader {
    fileprivate mutating func takeNumber(bytes count: Int) throws(EncryptionError) -> UInt64 {
        try take(count).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

import CloudKitModel
import JSONBytes

extension ZoneStateUpdate {
    /// - Throws: `badRequest` for a state that is too large, or of a device whose name cannot be one.
    init(reading reader: inout JSONReader) throws {
        self.init(incarnation: "", state: ZoneDeviceState(device: "", number: 0))
        try reader.object { reader, key in
            if key == "incarnation" {
                incarnation = try reader.string()
            } else {
                try state.read(key, &reader)
            }
        }
        guard ZoneDeviceState.isName(state.device), !state.bytes.isEmpty,
            state.bytes.count <= ZoneDeviceState.bytesMax, incarnation.utf8.count <= 64
        else { throw RequestFailure(.badRequest, "BadRequestException: invalid state of a zone") }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.pair("incarnation", incarnation)
        state.writeKeys(to: &writer)
        writer.endObject()
    }
}

extension ZoneStatesRequest {
    /// - Throws: `badRequest` for what `ZoneStateUpdate` refuses, and for more devices than a zone can have.
    init(reading reader: inout JSONReader) throws {
        self.init()
        try reader.object { reader, key in
            if try reader.readNull() { return }
            switch key {
            case "update": update = try ZoneStateUpdate(reading: &reader)
            case "deletions": reportsAllDeletions = try reader.bool()
            case "known":
                try reader.array { reader in
                    let state = try ZoneDeviceState(reading: &reader)
                    known[state.device] = state.number
                    guard known.count <= ZoneDeviceState.devicesMax else {
                        throw RequestFailure(.badRequest, "BadRequestException: too many states of a zone")
                    }
                }
            default: try reader.skipValue()
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let update {
            writer.key("update")
            update.write(to: &writer)
        }
        if !known.isEmpty {
            writer.key("known")
            writer.beginArray()
            for (device, number) in known.sorted(by: { $0.key < $1.key }) {
                ZoneDeviceState(device: device, number: number).write(to: &writer)
            }
            writer.endArray()
        }
        if reportsAllDeletions { writer.pair("deletions", true) }
        writer.endObject()
    }
}

extension ZoneStates {
    init(reading reader: inout JSONReader) throws {
        self.init(incarnation: "", forgetsDeletions: false, states: [])
        try reader.object { reader, key in
            if try reader.readNull() { return }
            switch key {
            case "incarnation": incarnation = try reader.string()
            case "forgetsDeletions": forgetsDeletions = try reader.bool()
            case "states": try reader.array { states.append(try ZoneDeviceState(reading: &$0)) }
            default: try reader.skipValue()
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.pair("incarnation", incarnation)
        if forgetsDeletions { writer.pair("forgetsDeletions", true) }
        if !states.isEmpty {
            writer.key("states")
            writer.beginArray()
            for state in states { state.write(to: &writer) }
            writer.endArray()
        }
        writer.endObject()
    }
}

extension ZoneDeviceState {
    fileprivate init(reading reader: inout JSONReader) throws {
        self.init(device: "", number: 0)
        try reader.object { reader, key in try read(key, &reader) }
    }

    fileprivate mutating func read(_ key: JSONText, _ reader: inout JSONReader) throws {
        if try reader.readNull() { return }
        switch key {
        case "device": device = try reader.string()
        case "number": number = UInt64(clamping: try reader.int64())
        case "state": bytes = try reader.base64IfAny() ?? []
        default: try reader.skipValue()
        }
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writeKeys(to: &writer)
        writer.endObject()
    }

    fileprivate func writeKeys(to writer: inout JSONWriter) {
        writer.pair("device", device)
        writer.pair("number", Int64(clamping: number))
        if !bytes.isEmpty { writer.pair("state", base64: bytes) }
    }
}

import CloudKitServer
import HTTPTypes

/// Names the epoch of the store in every answer to the framework, so that devices know when the cloud was restored from a backup (B-BKD-13).
struct StoreEpoch: RequestCheck {
    let cloud: Cloud

    func check(_ request: IncomingRequest) throws {
        if request.surface == .native {
            let epoch = cloud.epoch
            request.responseHeaders.append(
                HTTPField(
                    name: HeaderName.storeEpoch,
                    value: epoch.restoredTo == 0 ? epoch.name : "\(epoch.name);\(epoch.restoredTo)"))
        }
    }
}

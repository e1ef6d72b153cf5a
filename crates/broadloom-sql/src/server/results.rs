//! Parts of results, for clients and other executors.

use crate::MESSAGE_BYTES;
use crate::fence::check_job;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest,
    HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use ballista_core::serde::decode_protobuf;
use ballista_core::serde::scheduler::Action as Asked;
use ballista_executor::flight_service::BallistaFlightService;
use futures::stream::BoxStream;
use tonic::{Request, Response, Status, Streaming};

/// Returns what serves the parts of results in a folder.
pub(super) fn service(folder: &str) -> FlightServiceServer<impl FlightService> {
    FlightServiceServer::new(Results(BallistaFlightService::new(folder.to_owned())))
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES)
}

/// What Ballista serves, if it is of a job: Ballista makes a path of any name that it is asked for.
struct Results(BallistaFlightService);

/// Refuses a request that names no job.
fn check(asked: &[u8]) -> Result<(), Status> {
    let Asked::FetchPartition { job_id, .. } =
        decode_protobuf(asked).map_err(|_| Status::invalid_argument("the request is damaged"))?;
    check_job(job_id.as_str()).map_err(|error| Status::invalid_argument(error.strip_backtrace()))
}

type Answer<T> = Result<Response<T>, Status>;
type Answers<T> = BoxStream<'static, Result<T, Status>>;

/// The answer to what neither clients nor executors ask.
fn unknown<T>() -> Answer<T> {
    Err(Status::unimplemented("executors only serve parts of results"))
}

#[tonic::async_trait]
impl FlightService for Results {
    type HandshakeStream = Answers<HandshakeResponse>;
    type ListFlightsStream = Answers<FlightInfo>;
    type DoGetStream = Answers<FlightData>;
    type DoPutStream = Answers<PutResult>;
    type DoActionStream = Answers<arrow_flight::Result>;
    type ListActionsStream = Answers<ActionType>;
    type DoExchangeStream = Answers<FlightData>;

    async fn do_get(&self, request: Request<Ticket>) -> Answer<Self::DoGetStream> {
        check(&request.get_ref().ticket)?;
        self.0.do_get(request).await
    }

    async fn do_action(&self, request: Request<Action>) -> Answer<Self::DoActionStream> {
        check(&request.get_ref().body)?;
        self.0.do_action(request).await
    }

    async fn handshake(&self, _: Request<Streaming<HandshakeRequest>>) -> Answer<Self::HandshakeStream> {
        unknown()
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Answer<Self::ListFlightsStream> {
        unknown()
    }

    async fn get_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<FlightInfo> {
        unknown()
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<PollInfo> {
        unknown()
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> Answer<SchemaResult> {
        unknown()
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> Answer<Self::DoPutStream> {
        unknown()
    }

    async fn list_actions(&self, _: Request<Empty>) -> Answer<Self::ListActionsStream> {
        unknown()
    }

    async fn do_exchange(&self, _: Request<Streaming<FlightData>>) -> Answer<Self::DoExchangeStream> {
        unknown()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, Int32Array};
    use datafusion::arrow::ipc::writer::StreamWriter;
    use datafusion::arrow::record_batch::RecordBatch;
    use std::sync::Arc;

    /// A request for partition 0 of stage 1 of a job, in the form of protocol buffers.
    fn asked(job: &str) -> Vec<u8> {
        let fetch = [&[0x0a, job.len() as u8], job.as_bytes(), &[0x10, 1]].concat();
        [&[0x1a, fetch.len() as u8], fetch.as_slice()].concat()
    }

    #[tokio::test]
    async fn parts_of_jobs_are_served_and_no_other_files() {
        let folder = tempfile::tempdir().unwrap();
        let ones: ArrayRef = Arc::new(Int32Array::from(vec![1, 1]));
        let batch = RecordBatch::try_from_iter([("a", ones)]).unwrap();
        for place in ["work/job", "secret"] {
            let place = folder.path().join(place).join("1/0");
            std::fs::create_dir_all(&place).unwrap();
            let file = std::fs::File::create(place.join("data.arrow")).unwrap();
            let mut writer = StreamWriter::try_new(file, &batch.schema()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        }
        let work = folder.path().join("work").to_str().unwrap().to_owned();
        let results = Results(BallistaFlightService::new(work));
        let got = async |job: &str| results.do_get(Request::new(Ticket::new(asked(job)))).await.err();
        let block = async |job: &str| {
            let action = Action::new("IO_BLOCK_TRANSPORT", asked(job));
            results.do_action(Request::new(action)).await.err()
        };
        assert!(got("job").await.is_none() && block("job").await.is_none());
        let secret = folder.path().join("secret").to_str().unwrap().to_owned();
        for job in ["../secret", "job/../../secret", &secret, ".", "..", ""] {
            for refused in [got(job).await, block(job).await] {
                let message = refused.map(|status| status.message().to_owned()).unwrap_or_default();
                assert!(message.contains("is no name of a query"), "{job}: {message}");
            }
        }
    }
}
